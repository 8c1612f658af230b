"""What an epoch takes, phase by phase, as the driver sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from millrace.runtime.coordination.load import Loads
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import TaskAck


class Phases:
    """The epoch that runs."""

    def __init__(self, job: JobGraph) -> None:
        self._loads = Loads(job)
        self._since = perf_counter()
        self._spent: dict[str, float] = {}

    def begin(self) -> None:
        """It is about to be planned."""
        self._spent = {}
        self._since = perf_counter()

    def planned(self) -> None:
        """It has been planned, and its tasks are about to run."""
        self._spent["plan"] = self._lap()

    def ran(self, acks: Sequence[TaskAck]) -> None:
        """All tasks have acknowledged."""
        self._spent |= self._loads.phases(acks, self._lap())

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Its end becomes a checkpoint meanwhile."""
        with self._timed("record"):
            yield

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Sinks commit meanwhile."""
        with self._timed("commit"):
            yield

    def all(self) -> dict[str, float]:
        """Name of each phase -> ms so far."""
        return dict(self._spent)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + (perf_counter() - began) * 1000

    def _lap(self) -> float:
        """Milliseconds since the last call."""
        since, self._since = self._since, perf_counter()
        return (self._since - since) * 1000
