"""Threads that a test leaves behind, told from those of other tests: a lane runs many files in one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 30.0
"""for the end of a thread that has been told to end; one that is left does not end at all"""


@contextmanager
def no_thread_left(name: str) -> Iterator[None]:
    """What runs inside leaves no thread whose name begins so."""
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + SECONDS
    while left := [each for each in threading.enumerate() if each.name.startswith(name) and each not in before]:
        assert time.monotonic() < until, f"left: {', '.join(each.name for each in left)}"
        left[0].join(0.05)
