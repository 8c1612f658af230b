"""Threads of readers: told to end, they end, or are made to."""

from __future__ import annotations

import ctypes
import logging
import threading
import time

GRACE_SECONDS = 1.0
"""How long a thread has to end by itself."""
DEADLINE_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Cancelled(BaseException):
    """Unwinds a thread that is no longer wanted; not an Exception, so that user code does not swallow it."""


def end_thread(thread: threading.Thread) -> bool:
    """Wait for a thread that was told to end.

    One that does not gets a ``Cancelled`` raised inside, as Java's threads are interrupted; it takes effect when the
    thread runs Python code again, so not within a call that blocks.

    :return: whether the thread has ended within the deadline.
    """
    until = time.monotonic() + DEADLINE_SECONDS
    thread.join(GRACE_SECONDS)
    while thread.is_alive() and time.monotonic() < until:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Cancelled))
        thread.join(0.2)
    if thread.is_alive():
        logger.warning("thread %s does not end: it blocks in a call", thread.name)
    return not thread.is_alive()
