"""The operating system: processes, threads, disk space, file descriptors and the time zone.

Identity of processes of this machine, children that end with their parent, threads that must end, errors of a full disk
or too few file descriptors with their fix.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from functools import lru_cache

# Processes


@lru_cache(maxsize=1)
def this_machine() -> str:
    """An id (eight characters) of the set of pids that this process is in: a machine since its last boot, or a
    container."""
    parts = [socket.gethostname()]
    for read in (_boot_id, _namespace):
        try:
            parts.append(read())
        except OSError:
            continue  # no Linux
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def is_alive(process: int, started: int | None = None) -> bool:
    """Whether a process of ``this_machine`` lives; a zombie counts as dead.

    :param started: ``started_at`` of it, so that another one with its number is not taken for it.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    stat = _stat(process)
    if stat is not None and stat[0] in ("Z", "X"):
        return False  # a zombie: it has ended, and its parent has not waited for it
    return started is None or started_at(process) in (started, None)


def started_at(process: int) -> int | None:
    """Start time of a process in ticks since the machine's boot; None where it is unknown."""
    stat = _stat(process)
    return None if stat is None else int(stat[19])


def _stat(process: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` from the state on; None where there are none."""
    try:
        with open(f"/proc/{process}/stat") as file:
            found = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return found if len(found) > 19 and found[19].isdecimal() else None


# Processes that end with their parent

_SET_SIGNAL = 1
"""The operation PR_SET_PDEATHSIG of prctl."""


def has_parent_death_signal() -> bool:
    """Whether this system tells a process that its parent has ended. Imports what ``signal_with`` needs."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes  # noqa: F401
    except ImportError:  # a Python that was built without
        return False
    return True


def signal_when_parent_dies(parent: int, number: signal.Signals) -> None:
    """Let this process, and what it becomes by ``exec``, get a signal when its parent ends; now, if it has ended.

    For children between ``fork`` and ``exec``, too, where the parent has called ``is_told``. The parent is the thread
    that has forked: only one that lasts as long as its process should.

    :param parent: its process.
    :raises OSError: the system refuses.
    """
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(_SET_SIGNAL, int(number), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


# Threads of readers

GRACE_SECONDS = 1.0
"""How long a thread has to end by itself (s)."""
DEADLINE_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Cancelled(BaseException):
    """Raised inside a thread to end it; not an Exception, so that user code does not catch it."""


def end_thread(thread: threading.Thread) -> bool:
    """Wait for a thread that was asked to end.

    If it does not, a ``Cancelled`` is raised inside it, as Java's threads are interrupted; that takes effect when the
    thread
    runs Python code again, so not within a call that blocks.

    :return: whether the thread has ended within the deadline.
    """
    import ctypes  # which processes that only watch others do without

    until = time.monotonic() + DEADLINE_SECONDS
    thread.join(GRACE_SECONDS)
    while thread.is_alive() and time.monotonic() < until:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Cancelled))
        thread.join(0.2)
    if thread.is_alive():
        logger.warning("thread %s does not end: it blocks in a call", thread.name)
    return not thread.is_alive()


# Pauses

REST_FACTOR = 20
"""A pause is this many times as long as the work before it, up to ``LONGEST_REST_SECONDS``."""
LONGEST_REST_SECONDS = 0.1
"""Longest pause, however long the work before it was."""
FEW_RECORDS = 256
"""Fewer records than these at a time count as little work."""


# No space left

_MEANT = {
    errno.ENOSPC: "the disk is full: make room there, or choose another folder",
    errno.EDQUOT: "the quota of this user is used up: make room there, or choose another folder",
    errno.EFBIG: "the file may not become larger: see ulimit -f",
    errno.EMFILE: "this process may not open more files: raise ulimit -n",
    errno.ENFILE: "the machine may not open more files",
}

ENOUGH_DESCRIPTORS = 1024
"""Sufficient limit of open files: the JVM opens 280 jars at its start."""


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Errors of a full disk that the code inside raises name this file or folder."""
    try:
        yield
    except OSError as error:
        better = no_room(error, path)
        if better is error:
            raise
        raise better from error


def no_room(error: OSError, path: str) -> OSError:
    """The error of a full disk with the path and advice; any other error unchanged."""
    number = error.errno
    meaning = None if number is None else _MEANT.get(number)
    if number is None or meaning is None or meaning in str(error):
        return error
    return OSError(number, f"{os.strerror(number)} ({meaning})", error.filename or path)


def write_all(file: int, content: bytes) -> None:
    """Write all bytes to a descriptor: a full disk takes a part first, and reports its error with the next call."""
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def few_descriptors() -> str:
    """A hint for errors of processes that may open too few files; empty if the limit is sufficient."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY or most >= ENOUGH_DESCRIPTORS:
        return ""
    return f"; no more than {most} files may be open here, and Spark needs {ENOUGH_DESCRIPTORS}: raise ulimit -n"


# Time zone


def system_zone() -> str:
    """The name of the system's zone; UTC where it has none by name."""
    name = os.environ.get("TZ", "")
    link = "/etc/localtime"
    if not name and os.path.islink(link):
        name = os.path.realpath(link).partition("zoneinfo/")[2]
    return name or "UTC"
