"""The lock between a source function's ``run`` and the end of an epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable

WAIT_SECONDS = 0.02


class Cancelled(BaseException):
    """Unwinds ``run``; not an Exception, so that user code does not swallow it."""


class CheckpointLock:
    """For ``with``, by the threads of ``run``, also nested. Once it is closed, entering it raises ``Cancelled``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._closing = False
        self._closed = threading.Event()

    def __enter__(self) -> None:
        me = threading.get_ident()
        if self._closing and self._owner != me:
            self._closed.wait()  # else a loop around the lock would get it again and again
        self._lock.acquire()
        if self.closed:
            self._lock.release()
            raise Cancelled
        self._owner = me
        self._depth += 1

    def __exit__(self, *exc: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def close(self, meanwhile: Callable[[], None]) -> None:
        """Wait until nobody is inside, calling ``meanwhile`` from time to time; from then on nobody will be."""
        self._closing = True
        while not self._lock.acquire(timeout=WAIT_SECONDS):
            meanwhile()
        self._closed.set()
        self._lock.release()
