"""The state of the operator in a harness, version by version, as a task and its storage would keep it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, StateBackend
from millrace.runtime.member import OperatorDeltas
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.runtime.storage import MemoryStorage
from millrace.runtime.versions import INITIAL

JOB, TASK, UID = "harness", (0, 0), "operator"


class Versions:
    """
    :param backend: None for state in memory.
    :param small: gives the state of the operator but for its keyed state.
    """

    def __init__(self, backend: StateBackend | None, small: Callable[[], OperatorDeltas]) -> None:
        plan: StatePlan = InMemory()
        if isinstance(backend, EmbeddedRocksDBStateBackend):
            self._directory = tempfile.TemporaryDirectory(prefix="millrace-harness-")
            plan = OnDisk((self._directory.name,))
        self._working = plan.state_of(JOB, TASK, lambda: {UID: small()})
        self._storage = MemoryStorage()
        self._history: tuple[int, ...] = (INITIAL,)
        self._is_new = True

    def keyed(self, time: StateTime) -> KeyedStateBackend:
        """The operator's keyed state."""
        return self._working.backend(UID, time)

    def finish(self, delta: OperatorDeltas) -> None:
        """An epoch has ended and counts; the next one begins."""
        version = self._history[-1] + 1
        self._storage.write_delta(TASK, version, {UID: delta})
        self._working.finish(version, {UID: delta})
        self._history, self._is_new = (*self._history, version), False
        for _ in self._working.changes(TASK, version, self._history, self._storage):
            raise AssertionError("a copy has missed its own epoch")

    def changes(self, pieces: Sequence[OperatorDeltas], whole: bool) -> Iterator[OperatorDeltas]:
        """What the operator has to take over of a version: the only one if it is a whole state, else the next one."""
        known = None if self._is_new else self._history[-1]
        version = self._history[-1] + 1
        if whole:
            self._storage.write_full(TASK, version, [{UID: piece} for piece in pieces])
            self._history = (version,)
        else:
            self._storage.write_delta(TASK, version, {UID: pieces[0]})
            self._history = (*self._history, version)
        self._is_new = False
        for _, piece in self._working.changes(TASK, known, self._history, self._storage):
            yield piece[UID]

    def close(self) -> None:
        self._working.close()
