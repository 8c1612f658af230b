"""Operations that go on after they were asked for: begun under an id, looked up under it until they are forgotten."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from millrace.cluster.rest.web.errors import refused

Key = tuple[str, str, str]
"""kind of operation, whose it is (a job, or empty), id of the request"""


@dataclass
class Trigger:
    """One operation."""

    future: Future[Any] = field(default_factory=Future)
    completed: float | None = None
    """when, by the clock of the registry"""


class Triggers:
    """The operations of one server.

    The same id twice is the same operation, which is begun once. Completed ones are forgotten after a while, and sooner
    when there are too many; those that go on never are.
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Trigger] = OrderedDict()

    def begin(self, key: Key, start: Callable[[], Future[Any]]) -> None:
        """Start an operation, unless there is one with this key. What ``start`` raises is how it ends."""
        with self._lock:
            self._forget()
            if key in self._known:
                return
            self._make_room()
            trigger = self._known[key] = Trigger()
        try:
            work = start()
        except Exception as error:
            work = Future()
            work.set_exception(error)
        work.add_done_callback(lambda done: self._complete(trigger, done))

    def find(self, key: Key) -> Future[Any] | None:
        """The operation with this key; it is done, or goes on."""
        with self._lock:
            self._forget()
            trigger = self._known.get(key)
            return None if trigger is None else trigger.future

    def _complete(self, trigger: Trigger, work: Future[Any]) -> None:
        with self._lock:
            trigger.completed = self._clock()
        if work.cancelled():
            trigger.future.set_exception(RuntimeError("The operation was cancelled."))
        elif (error := work.exception()) is not None:
            trigger.future.set_exception(error)
        else:
            trigger.future.set_result(work.result())

    def _forget(self) -> None:
        now = self._clock()
        for key, each in [*self._known.items()]:
            if each.completed is not None and now - each.completed > self._seconds:
                del self._known[key]

    def _make_room(self) -> None:
        if len(self._known) < self._limit:
            return
        for key, each in self._known.items():
            if each.completed is not None:
                del self._known[key]
                return
        raise refused(503, f"There are {len(self._known)} operations in progress already; try again later.")
