"""Deleting what is not needed any more, which no epoch has to wait for."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Protocol

logger = logging.getLogger(__name__)

THREADS = 4
"""Deletions that run at a time: most of each is waiting for a file system."""
WAITING = 10_000
"""Deletions that wait at most; the rest comes back with a later epoch."""


class Cleaner(Protocol):
    """Runs deletions. One that fails is logged: what is left costs space, and the deletion may be asked for again."""

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        """Run this some time; False: there is no room for it now.

        :param what: is deleted, for the log.
        """

    def close(self, seconds: float = 10.0) -> None:
        """Wait so long for what was submitted to be done; no more will come."""


class AtOnce:
    """Runs them where they are asked for: for tests, and where no epoch is waiting."""

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        _run(what, delete)
        return True

    def close(self, seconds: float = 10.0) -> None:
        """Everything is done."""


class InBackground:
    """Runs them in threads, which begin with the first one."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[str, Callable[[], None]] | None] = queue.Queue(WAITING)
        self._threads: list[threading.Thread] = []

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        try:
            self._waiting.put_nowait((what, delete))
        except queue.Full:
            return False
        if len(self._threads) < THREADS:
            thread = threading.Thread(target=self._work, name="millrace-cleaning", daemon=True)
            self._threads.append(thread)
            thread.start()
        return True

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            _run(*job)

    def close(self, seconds: float = 10.0) -> None:
        deadline = time.monotonic() + seconds
        threads, self._threads = self._threads, []
        try:
            for _ in threads:
                self._waiting.put(None, timeout=max(0.0, deadline - time.monotonic()))
        except queue.Full:
            pass  # nobody takes anything out: the threads are daemons
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _run(what: str, delete: Callable[[], None]) -> None:
    try:
        delete()
    except Exception:
        logger.warning("%s could not be deleted", what, exc_info=True)
