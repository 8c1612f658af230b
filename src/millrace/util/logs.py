"""Log rotation, and suppression of repeated messages.

A file that is too large is renamed (``a.log`` becomes ``a.log.1``, that ``a.log.2``), and the last one is deleted.
``NotAgain`` limits the messages of libraries that repeat themselves.
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
    """How large a log may grow, and how many rotated files there are."""

    file_bytes: int = 64 << 20
    """size from which a log is rotated (bytes)"""
    older_files: int = 10
    """number of rotated files that are retained beside the log"""


def make_room(path: str, older_files: int) -> None:
    """Rename the rotated files of a log to the next number, and delete those beyond the limit, so that ``.1`` is
    free."""
    for number in range(older_files, 0, -1):
        with contextlib.suppress(FileNotFoundError):
            if number == older_files:
                os.unlink(f"{path}.{number}")
            else:
                os.replace(f"{path}.{number}", f"{path}.{number + 1}")


def cut(path: str, limits: LogLimits) -> bool:
    """Rotate a log that other processes append to, if it is too large: its content is copied and the file truncated,
    since they have it open.

    Lines that they write at this moment may be lost.
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
    """Rotate a log of this process if it is too large; ``descriptors`` are those that write to it. No line is lost.

    Lines go to the old file until the moment at which a descriptor leads to the new one. Children that have inherited a
    descriptor write to the old file as long as they live.
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
    """Rotate the logs that are this process's standard output and standard error, if they are too large."""
    for path in paths:
        with contextlib.suppress(OSError):  # no space: the next look tries again
            turn_over(path, (1, 2), limits)


def keep_own_short(paths: Sequence[str], limits: LogLimits, seconds: float = LOOK_SECONDS) -> threading.Event:
    """Run ``turn_own_over`` regularly on a thread until this process ends, or the event is set."""
    closed = threading.Event()

    def look() -> None:
        while not closed.wait(seconds):
            turn_own_over(paths, limits)

    threading.Thread(target=look, name="millrace-logs", daemon=True).start()
    return closed


def log_of(name: str) -> str:
    """The name of the log that a file belongs to: the log itself, or a rotated file of it."""
    match = _NUMBERED.match(name)
    return match[1] if match else name


_MOST_LINES = 1_000
"""largest number of texts that are remembered"""


class NotAgain(logging.Filter):
    """A log filter that lets each text through once in some seconds.

    :param leaving_out: parts in which equal messages differ: numbers of clients, times.
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
            if len(self._said) >= _MOST_LINES:
                self._said.clear()
            self._said[text] = now
        return True
