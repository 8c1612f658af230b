"""Logs: files that begin again when they are large (``a.log`` becomes ``a.log.1``, that ``a.log.2``, and the last
goes), and messages of a library that says the same again and again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

LOOK_SECONDS = 5.0
_NUMBERED = re.compile(r"(.+)\.([1-9][0-9]*)\Z")


@dataclass(frozen=True)
class LogLimits:
    """How much of a log is kept."""

    file_bytes: int = 64 << 20
    """from here on it begins again"""
    older_files: int = 10
    """as many are beside it then"""


def make_room(path: str, older_files: int) -> None:
    """Give each older file of a log the next number; what is beyond goes. There is no ``.1`` then."""
    for number in range(older_files, 0, -1):
        with contextlib.suppress(FileNotFoundError):
            if number == older_files:
                os.unlink(f"{path}.{number}")
            else:
                os.replace(f"{path}.{number}", f"{path}.{number + 1}")


def cut(path: str, limits: LogLimits) -> bool:
    """Let a log that others append to begin again if it is too large: it stays the file that they have open.

    What they write in this very moment may be missing.
    """
    if os.path.getsize(path) <= limits.file_bytes:
        return False
    make_room(path, limits.older_files)
    if limits.older_files:
        older = os.open(f"{path}.1", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(older, "wb") as kept, open(path, "rb") as log:
            shutil.copyfileobj(log, kept)
    os.truncate(path, 0)
    return True


def turn_over(path: str, descriptors: Sequence[int], limits: LogLimits) -> bool:
    """Let a log of this process begin again if it is too large; the descriptors are those that write to it.

    Nothing is lost: until the moment at which a descriptor leads to the new file, what is written goes to the old one.
    Children that have inherited a descriptor write there as long as they live.
    """
    if os.path.getsize(path) <= limits.file_bytes:
        return False
    mine = [each for each in descriptors if _leads_to(each, path)]
    if not mine:
        return False
    make_room(path, limits.older_files)
    if limits.older_files:
        os.replace(path, f"{path}.1")
    else:
        os.unlink(path)
    new = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        for each in mine:
            os.dup2(new, each, inheritable=each <= 2)
    finally:
        os.close(new)
    return True


def _leads_to(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def turn_own_over(paths: Sequence[str], limits: LogLimits) -> None:
    """Look once at the logs that are standard output and standard error of this process."""
    for path in paths:
        with contextlib.suppress(OSError):  # no space: the next look tries again
            turn_over(path, (1, 2), limits)


def keep_own_short(paths: Sequence[str], limits: LogLimits, seconds: float = LOOK_SECONDS) -> threading.Event:
    """Do so on a thread for as long as this process lives, or until the event is set."""
    closed = threading.Event()

    def look() -> None:
        while not closed.wait(seconds):
            turn_own_over(paths, limits)

    threading.Thread(target=look, name="millrace-logs", daemon=True).start()
    return closed


def log_of(name: str) -> str:
    """The name of the log that a file is of: an older one of it, or itself."""
    match = _NUMBERED.match(name)
    return match[1] if match else name


_KEPT = 1_000
"""texts that are remembered at most"""


class NotAgain(logging.Filter):
    """Lets each text through once in so many seconds.

    :param leaving_out: parts in which texts differ that say the same: numbers of clients, times.
    """

    def __init__(self, seconds: float, leaving_out: re.Pattern[str]) -> None:
        super().__init__()
        self._seconds = seconds
        self._leaving_out = leaving_out
        self._said: dict[str, float] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        text, now = self._leaving_out.sub("", record.getMessage()), time.monotonic()
        with self._lock:
            if now - self._said.get(text, -self._seconds) < self._seconds:
                return False
            if len(self._said) >= _KEPT:
                self._said.clear()
            self._said[text] = now
        return True
