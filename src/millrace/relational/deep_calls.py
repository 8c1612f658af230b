"""Calls within calls, deeper than Python allows by default: for what goes down trees that programs have written."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# From 3.11 on a call of Python takes nothing of the stack of C, so that only memory bounds the depth.
LIMIT = 50_000 if sys.version_info >= (3, 11) else 8_000
_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let calls go to ``LIMIT`` within this block. The limit is that of all threads: it is as before when the last one
    has left."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, LIMIT))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_before)
