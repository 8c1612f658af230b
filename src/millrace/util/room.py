"""Errors of a system that has no more room say where, and what can be done."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Iterator

__all__ = ["few_descriptors", "no_room", "write_all", "writing"]

_MEANT = {
    errno.ENOSPC: "the disk is full: make room there, or choose another folder",
    errno.EDQUOT: "the quota of this user is used up: make room there, or choose another folder",
    errno.EFBIG: "the file may not become larger: see ulimit -f",
    errno.EMFILE: "this process may not open more files: raise ulimit -n",
    errno.ENFILE: "the machine may not open more files",
}

ENOUGH_DESCRIPTORS = 1024
"""The JVM has 280 jars open before it does anything."""


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """What fails inside for want of room names the file or folder."""
    try:
        yield
    except OSError as error:
        better = no_room(error, path)
        if better is error:
            raise
        raise better from error


def no_room(error: OSError, path: str) -> OSError:
    """The error with the path and a way out; the same error if it is another one."""
    number = error.errno
    meaning = None if number is None else _MEANT.get(number)
    if number is None or meaning is None or meaning in str(error):
        return error
    return OSError(number, f"{os.strerror(number)} ({meaning})", error.filename or path)


def write_all(file: int, content: bytes) -> None:
    """Write to a descriptor all of it: the system takes a part when its room ends, and says so with the next call."""
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def few_descriptors() -> str:
    """What to add to an error where this process, and what it starts, may open so few files that this may be why."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY or most >= ENOUGH_DESCRIPTORS:
        return ""
    return f"; no more than {most} files may be open here, and Spark needs {ENOUGH_DESCRIPTORS}: raise ulimit -n"
