"""What an owner tells the driver of an epoch that goes on: once a second, what its tasks have done of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from millrace.runtime.protocol.so_far import OperatorSoFar, TaskSoFar
from millrace.runtime.storage import TaskId
from millrace.spark.flow.messages import SoFar
from millrace.spark.flow.turning import Turning

FIRST_SECONDS = 1.5
"""An epoch that is over by then is told of by its acknowledgements."""
SECONDS = 1.0


class Reports:
    """Used by the thread that reads the owner's connections, so that a task that is at work is told of, too.

    :param tasks: those of the owner.
    :param say: tells the driver.
    """

    def __init__(
        self,
        tasks: Mapping[TaskId, Turning],
        say: Callable[[SoFar], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tasks = tasks
        self._say = say
        self._clock = clock
        self._run = 0
        self._at: float | None = None
        """when it tells something again; None: no epoch runs"""
        self._known: dict[TaskId, tuple[tuple[OperatorSoFar, ...], int | None]] = {}

    def begin(self, run: int) -> None:
        """An epoch begins."""
        self._run = run
        self._at = self._clock() + FIRST_SECONDS
        self._known.clear()

    def left(self) -> float | None:
        """Seconds until there is something to tell; None: there will be nothing."""
        return None if self._at is None else max(0.0, self._at - self._clock())

    def look(self) -> None:
        """Tell what is new, if it is time for that."""
        if self._at is None or self._clock() < self._at:
            return
        found = [(name, task.so_far()) for name, task in self._tasks.items()]
        at_work = {name: so_far for name, so_far in found if so_far is not None}
        self._at = self._clock() + SECONDS if at_work else None
        if news := tuple(so_far for name, so_far in at_work.items() if self._is_new(name, so_far)):
            self._say(SoFar(self._run, news))

    def _is_new(self, name: TaskId, so_far: TaskSoFar) -> bool:
        known = so_far.reports, so_far.times.pressed
        before = self._known.get(name)
        self._known[name] = known
        return before != known
