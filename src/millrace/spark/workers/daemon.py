"""PySpark's worker daemon with everything imported that tasks need, begun while the JVM boots.

Workers are forks of the daemon: what it has imported they all share, in time (a worker starts in milliseconds instead
of importing pyarrow and Millrace by itself) and in memory. So is the keeper of the owners that tasks live in, and what
the keeper forks.

Spark starts the daemon with its first Python task, which then waits until pandas, pyarrow and Millrace are imported. So
a process is started together with the JVM (``spark/sessions/early_daemon.py``), imports them, and waits at a socket in
the folder of its keeper. The command that Spark runs sends it its streams and its environment, stays as its place
holder, and hands signals on. Where no process waits, or the one that does was started otherwise, the command becomes
the daemon itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

from millrace.spark.sessions.early_daemon import VARIABLE
from millrace.spark.workers import processes
from millrace.util.folders import make_private
from millrace.util.system import is_alive, started_at

_SOCKET = "d"
_FIXED = ("PYTHONHASHSEED", "OMP_NUM_THREADS")
"""What a process cannot change of itself after its imports."""
_ANSWER_SECONDS = 60.0
"""How long Spark's command waits for a daemon that still imports."""
_LOOK_SECONDS = 0.01
_PARENT_SECONDS = 0.5
"""How often a daemon that waits looks whether the process that began it is still there."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_MAX_BYTES = 16 * 1024 * 1024


# -- the daemon that waits ----------------------------------------------------------------------------------------


def wait_for_place(prepare: Callable[[], None]) -> bool:
    """Prepare, and wait for Spark's command: whether this process has its place now. It has not if the process that
    began it has ended."""
    os.setpgid(0, 0)  # a terminal's Ctrl-C is not for it
    begun_by = os.getppid()
    prepare()
    if select.select([0], [], [], 0)[0]:
        return False
    folder = processes.folder_of(os.getpid())
    make_private(folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    taken = False
    try:
        listener.bind(os.path.join(folder, _SOCKET))
        listener.listen(1)
        ready: list[int] = []
        while not ready:
            # Forks of the process that began it may hold the other end of the standard input.
            if os.getppid() != begun_by:
                return False
            ready = select.select([listener.fileno(), 0], [], [], _PARENT_SECONDS)[0]
        if listener.fileno() not in ready:
            return False
        connection, _ = listener.accept()
        with contextlib.suppress(OSError, ValueError, EOFError):
            taken = _take_place(connection)
        return taken
    finally:
        listener.close()
        if taken:
            os.unlink(os.path.join(folder, _SOCKET))  # the folder is its keeper's
        else:
            processes.remove(folder)


def _take_place(connection: socket.socket) -> bool:
    from millrace.spark.workers.frames import same_user

    if not same_user(connection, os.getuid()):
        return False
    message, files, _, _ = socket.recv_fds(connection, 8, 3)
    size = int.from_bytes(message, "big")
    if len(message) != 8 or len(files) != 3 or size > _MAX_BYTES:
        return False
    told = json.loads(_exactly(connection, size))
    fits = told["python"] == sys.executable and all(
        told["environment"].get(name) == os.environ.get(name) for name in _FIXED
    )
    if not fits:
        connection.sendall(b"-")
        return False
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    sys.argv, sys.path = told["words"], told["path"]
    connection.sendall(b"+" + os.getpid().to_bytes(8, "big"))
    # It stays open as long as this process lives: its forks have no part in it.
    os.register_at_fork(after_in_child=connection.close)
    _begun_with.append(connection)
    return True


_begun_with: list[socket.socket] = []


# -- the command that Spark runs ----------------------------------------------------------------------------------


def hand_over(waiting: int) -> bool:
    """Give a daemon that waits, or still imports, this process's place: whether it took it, and has ended by now."""
    # A signal of this moment waits until this process knows whom to tell.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        connection, daemon = _given(waiting)
        for number in _SIGNALS:
            signal.signal(number, lambda number, _: _tell(daemon, number))
    except (OSError, EOFError):
        return False  # no daemon waits: this process becomes the daemon
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with contextlib.suppress(OSError):
        while connection.recv(1):
            pass
    return True


def _given(waiting: int) -> tuple[socket.socket, int]:
    """The connection to the daemon that has this process's place, and its number.

    :raises OSError, EOFError: it has not.
    """
    connection = _connected(waiting)
    connection.settimeout(_ANSWER_SECONDS)
    told = {
        "python": sys.executable,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "words": sys.argv,
        "path": sys.path,
    }
    message = json.dumps(told).encode()
    socket.send_fds(connection, [len(message).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(message)
    if _exactly(connection, 1) != b"+":
        raise EOFError("it does not fit")
    daemon = int.from_bytes(_exactly(connection, 8), "big")
    connection.settimeout(None)
    return connection, daemon


def _connected(waiting: int) -> socket.socket:
    """The way to it, when it listens.

    :raises ProcessLookupError: it has ended, or has the place of an earlier command: Spark starts a daemon for each
        environment of workers.
    :raises TimeoutError: it has not listened for a minute.
    """
    folder = processes.folder_of(waiting)
    path = os.path.join(folder, _SOCKET)
    since, until = started_at(waiting), time.monotonic() + _ANSWER_SECONDS
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            connection.connect(path)
            return connection
        if not is_alive(waiting, since):
            raise ProcessLookupError(f"process {waiting} has ended")
        if os.path.exists(os.path.join(folder, processes.SOCKET)):
            raise ProcessLookupError(f"process {waiting} has a place already")
        time.sleep(_LOOK_SECONDS)
    raise TimeoutError(f"process {waiting} has not listened for {_ANSWER_SECONDS:g} s")


def _tell(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise EOFError("the other side has ended")
        parts += part
    return bytes(parts)


def fork_keeper() -> None:
    """Start the keeper of this daemon's workers."""
    from millrace.spark.workers import keeper

    daemon_pid = os.getpid()
    if os.fork():
        return
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)  # Spark talks to the daemon through its standard input and output
        os.dup2(2, 1)
        keeper.keep(daemon_pid)
    finally:
        os._exit(0)


def prepare() -> None:
    """Import all that forks share."""
    import zipimport

    from pyspark import daemon, worker  # noqa: F401  imported for the forks

    from millrace.spark.workers import keeper, pipe  # noqa: F401
    from millrace.spark.workers.processes import warm_up

    warm_up()
    # PySpark may lie in a zip file. A new worker lets Python forget what it knows of import paths, and every importer
    # of a folder in there would read the directory of the whole file again.
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter):
            del sys.path_importer_cache[path]
    # Objects that live for ever need no collector, and pages that it doesn't touch stay shared.
    gc.collect()
    gc.freeze()


def main() -> None:
    """Run the daemon, as ``python -m`` does for PySpark; or let one that was begun before have its place."""
    if sys.argv[1:2] == [VARIABLE]:
        if not wait_for_place(prepare):
            return
    else:
        waiting = os.environ.pop(VARIABLE, None)
        if waiting is not None and hand_over(int(waiting)):
            return
        prepare()
    from pyspark import daemon

    from millrace.spark.workers import pipe

    fork_keeper()
    pipe.watch_workers()
    daemon.manager()


if __name__ == "__main__":
    main()
