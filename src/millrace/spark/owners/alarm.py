"""Wakes the tasks of an owner between epochs, when something of theirs is due by the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable

from millrace.runtime.tasks.task_cache import TaskCache

LONGEST_SECONDS = 10.0
"""How long it sleeps at a time: somebody may set the clock."""


class Alarm:
    """One thread, which there is from the first time that a task has something to fire. One after the other they fire;
    for one whose function hangs, the others wait until their next epoch.

    :param clock: gives ms.
    """

    def __init__(self, cache: TaskCache, clock: Callable[[], int]) -> None:
        self._cache = cache
        self._clock = clock
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        cache.on_due = self._wake

    def _wake(self) -> None:
        self._news.set()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="millrace-alarm", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while True:
            self._news.clear()
            due = self._cache.next_due()
            left = LONGEST_SECONDS if due is None else (due - self._clock()) / 1000
            if left > 0:
                self._news.wait(min(left, LONGEST_SECONDS))
            else:
                self._cache.fire_due(self._clock())
