"""The state of the operator in a harness, version by version, as a task and its storage would keep it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from millrace.datastream.state_backend import StateBackend
from millrace.datastream.state_plan import state_plan
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.runtime.storage import MemoryStorage
from millrace.runtime.tasks.member import OperatorDeltas
from millrace.runtime.versions import NO_PAST, whole_at

JOB, TASK, UID = "harness", (0, 0), "operator"


class Versions:
    """
    :param backend: None for state in memory.
    :param small: gives the state of the operator but for its keyed state.
    """

    def __init__(self, backend: StateBackend | None, small: Callable[[], OperatorDeltas]) -> None:
        plan: StatePlan = InMemory() if backend is None else state_plan(backend)
        if isinstance(plan, OnDisk):
            self._directory = tempfile.TemporaryDirectory(prefix="millrace-harness-")
            plan = OnDisk((self._directory.name,))
        self._working = plan.state_of(JOB, TASK, lambda: {UID: small()})
        self._storage = MemoryStorage()
        self._past = NO_PAST
        self._rests = False
        """whether an epoch has ended and the next one has not begun"""

    def keyed(self, time: StateTime) -> KeyedStateBackend:
        """The operator's keyed state."""
        return self._working.backend(UID, time)

    def finish(self, delta: OperatorDeltas) -> None:
        """An epoch has ended and counts."""
        version = self._past.versions[-1] + 1
        self._storage.write_delta(TASK, version, self._past, {UID: delta})
        self._past = self._past.then(version)
        self._working.finish(version, {UID: delta})
        self._rests = True

    def begin(self) -> None:
        """The next epoch begins, if it has not."""
        if self._rests:
            self._rests = False
            assert self._working.goes_on(), "nobody else is there"

    @contextmanager
    def firing(self) -> Iterator[None]:
        """Timers fire: between epochs, if no epoch has begun."""
        if not self._rests:
            yield
            return
        with self._working.firing() as same:
            assert same, "nobody else is there"
            yield

    def changes(self, pieces: Sequence[OperatorDeltas], whole: bool) -> Iterator[OperatorDeltas]:
        """What the operator has to take over of a version: the only one if it is a whole state, else the next one."""
        is_new = self._past == NO_PAST
        version = self._past.versions[-1] + 1
        if whole:
            self._storage.write_full(TASK, version, [{UID: piece} for piece in pieces])
            self._past = whole_at(version)
        else:
            self._storage.write_delta(TASK, version, self._past, {UID: pieces[0]})
            self._past = self._past.then(version)
        if is_new:
            yield from (piece[UID] for _, piece in self._working.load(TASK, self._past, self._storage))
        else:
            yield from pieces

    def close(self) -> None:
        self._working.close()
