"""Messages of a library that says the same again and again."""

from __future__ import annotations

import logging
import re
import threading
import time

__all__ = ["NotAgain"]

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
