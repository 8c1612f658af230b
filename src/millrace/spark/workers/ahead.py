"""A worker daemon that imports while the JVM boots: the one that Spark starts later hands its place over to it.

Spark starts the daemon with its first Python task, which then waits until pandas, pyarrow and Millrace are imported. So
a process is started together with the JVM, imports them, and waits at a socket in a private folder. The command that
Spark runs (``spark/workers/daemon.py``) sends it its streams and its environment, stays as its place holder, and hands
signals on. Where nobody waits, or what was begun doesn't fit, that command becomes the daemon itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

VARIABLE = "MILLRACE_DAEMON_AHEAD"
"""Names the socket, in the environment of the JVM and so of what it starts."""
_SOCKET = "daemon"
_DAEMON = "millrace.spark.workers.daemon"
_FIXED = ("PYTHONHASHSEED", "OMP_NUM_THREADS")
"""What a process cannot change of itself after its imports."""
_ANSWER_SECONDS = 60.0
"""How long Spark's command waits for a daemon that still imports."""
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Waiting:
    """A daemon that waits, as the process sees it that has begun it."""

    process: subprocess.Popen[bytes]
    variables: dict[str, str]
    """what the JVM's environment needs, so that it is found"""

    def end(self) -> None:
        """Spark will not ask for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def begin(home: str, environment: Mapping[str, str], log_file: str) -> Waiting:
    """Start a daemon that waits. It ends with this process if Spark never asks for it.

    :param home: the folder of the installed PySpark.
    """
    folder = tempfile.mkdtemp(prefix="millrace-daemon-")
    path = os.path.join(folder, _SOCKET)
    libraries = os.path.join(home, "python", "lib")
    zips = sorted(name for name in os.listdir(libraries) if name.endswith(".zip"))
    own = [os.path.join(libraries, name) for name in zips]
    variables = {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [*own, environment.get("PYTHONPATH")])),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": environment.get("OMP_NUM_THREADS", "1"),
    }
    with open(log_file, "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", _DAEMON, VARIABLE, path],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=variables,
        )
    return Waiting(process, {VARIABLE: path})


# -- the daemon that waits ----------------------------------------------------------------------------------------


def wait_for_place(path: str, prepare: Callable[[], None]) -> bool:
    """Prepare, and wait for Spark's command: whether this process has its place now. It has not if the process that
    began it has ended."""
    os.setpgid(0, 0)  # a terminal's Ctrl-C is not for it
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(1)
    try:
        prepare()
        if listener.fileno() not in select.select([listener.fileno(), 0], [], [])[0]:
            return False
        connection, _ = listener.accept()
        with contextlib.suppress(OSError, ValueError, EOFError):
            return _take_place(connection)
        return False
    finally:
        listener.close()
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def _take_place(connection: socket.socket) -> bool:
    from millrace.spark.owners.frames import same_user

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


def hand_over(path: str) -> bool:
    """Give a daemon that waits this process's place: whether one took it, and has ended by now."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
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
            return False
        daemon = int.from_bytes(_exactly(connection, 8), "big")
    except (OSError, EOFError):
        return False  # nobody waits: this process becomes the daemon
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: _tell(daemon, number))
    connection.settimeout(None)
    with contextlib.suppress(OSError):
        while connection.recv(1):
            pass
    return True


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
