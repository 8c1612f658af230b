"""Copies of a task with one keyed operator, in several worker processes: driven as an engine would drive them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.state_time import NO_TIME, StateTime
from millrace.runtime.state.working import InMemory, StatePlan, WorkingState
from millrace.runtime.storage import NO_PAST, MemoryStorage, Past, whole_at

JOB, TASK, UID = "job", (0, 0), "operator"


class TaskCopy:
    """A copy of the task; a subclass asks for states."""

    def __init__(self, working: WorkingState, time: StateTime = NO_TIME) -> None:
        self.working = working
        self.past = NO_PAST
        self.backend = working.backend(UID, time)

    def load(self, past: Past, storage: MemoryStorage) -> None:
        self.past = past
        for _, piece in self.working.load(TASK, past, storage):
            keyed = piece.get(UID, (None,))[0]
            if keyed is not None:
                self.backend.apply(keyed)

    def finish(self, version: int, storage: MemoryStorage, whole: bool = False) -> None:
        delta = {UID: (self.backend.delta(), None, None, None, None)}
        storage.write_delta(TASK, version, self.past, delta)
        self.past = self.past.then(version)
        if whole:
            pieces = ({UID: (piece, None, None, None, None)} for piece in self.backend.full_pieces())
            storage.write_full(TASK, version, pieces)
            self.past = whole_at(version)
        self.working.finish(version, delta)


C = TypeVar("C", bound=TaskCopy)


class Turns(Generic[C]):
    """The epochs of the task, which workers run in turn."""

    def __init__(self, machine: Machine, new_copy: Callable[[WorkingState], C], workers: int = 2) -> None:
        self.machine = machine
        self.storage = MemoryStorage()
        self.past = NO_PAST
        self.epoch = 1
        self.workers: list[C | None] = [None] * workers
        self._new_copy = new_copy
        self._at_work = 0
        self.begin_epoch(0)

    @property
    def copy(self) -> C:
        """The one that runs the epoch."""
        working = self.workers[self._at_work]
        assert working is not None
        return working

    def begin_epoch(self, worker: int) -> None:
        """The copy of this worker goes on if it was the last one that did an epoch that counts."""
        self._at_work = worker
        known = self.workers[worker]
        if known is not None:
            if known.past == self.past and known.working.goes_on():
                return
            known.working.close()
        new = self.workers[worker] = self._new_copy(self.machine.plan.state_of(JOB, TASK, dict))
        new.load(self.past, self.storage)

    def end_epoch(self, whole: bool = False) -> None:
        self.copy.finish(self.epoch, self.storage, whole)
        self.past = self.copy.past
        if whole:
            self.storage.discard(TASK, self.epoch)
        self.epoch += 1

    def fail_epoch(self, after_its_end: bool) -> None:
        """What the epoch did does not count; its copy is thrown away, or found to be of no use later."""
        if after_its_end:
            self.copy.finish(self.epoch, self.storage)
        else:
            self.copy.working.close()
            self.workers[self._at_work] = None
        self.epoch += 1

    @contextmanager
    def between_epochs(self) -> Iterator[None]:
        """After ``end_epoch``: the copy fires timers, and calls meanwhile are what these do."""
        with self.copy.working.firing() as same:
            assert same, "no other copy has gone on"
            yield

    def go_on(self) -> None:
        """An epoch begins where the last one ended, with what was done since."""
        self.begin_epoch(self._at_work)

    def drop(self, killed: bool) -> None:
        """The copy at hand is not used any more."""
        if not killed:
            self.copy.working.close()
        self.lose_worker(self._at_work)

    def lose_worker(self, worker: int) -> None:
        """A process is killed: nobody closes anything."""
        self.workers[worker] = None

    def close(self) -> None:
        for known in self.workers:
            if known is not None:
                known.working.close()
        self.machine.lose_disk()


class Machine:
    """Where copies keep what is not in their memory."""

    def __init__(self, on_disk: bool) -> None:
        self._directory = tempfile.mkdtemp(prefix="millrace-test-") if on_disk else None
        self.plan: StatePlan = InMemory() if self._directory is None else OnDisk((self._directory,))

    def lose_disk(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def machine_with(memory: int | None) -> Iterator[Machine]:
    """A machine whose tasks may have this much in memory, beside what has changed (bytes); None: they have no disk."""
    found = Machine(on_disk=memory is not None)
    if isinstance(found.plan, OnDisk) and memory is not None:
        found.plan = OnDisk(found.plan.paths, memory)
    yield found
    found.lose_disk()


def whole_of(backend: Any) -> dict[str, Any]:
    """The whole state of a backend as one: name -> (kind, entries)."""
    found: dict[str, Any] = {}
    for piece in backend.full_pieces():
        for name, (kind, entries) in piece.items():
            found.setdefault(name, (kind, {}))[1].update(entries)
    return found
