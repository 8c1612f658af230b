"""Keyed state in stores of a user's own: what every backend has to do, with limits as they are and with tight ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis.stateful import initialize
from tests.runtime.state.backend_suite import ADDRESSES, BackendMachine, BackendSuite, Copy, TimerMachine
from tests.runtime.state.copies import JOB, TASK, UID, Machine, TaskCopy, Turns
from tests.runtime.state.disk.test_disk_backend import TIGHT
from tests.runtime.state.store.stores import OddBackend, SortedBackend, SqliteBackend

from millrace.common.state.storage import KeyValueStore, StorePlace
from millrace.datastream.state_backend import KeyValueStateBackend
from millrace.runtime.state.state_time import NO_TIME
from millrace.runtime.state.store import state
from millrace.runtime.state.store.plan import InStores


class StoreMachine(Machine):
    """A machine whose tasks keep their state in a backend's stores; these end with the tasks."""

    def __init__(self, backend: KeyValueStateBackend) -> None:
        super().__init__(on_disk=False)
        self.plan = InStores(backend)


class InSortedStores(BackendMachine):
    on_disk = False

    @initialize()
    def begin(self) -> None:
        super().begin()
        self.job = Turns(StoreMachine(SortedBackend()), Copy)
        self.at = ADDRESSES[0]


class TightInSortedStores(InSortedStores):
    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        for module, name, value in [*TIGHT, (state, "SPILL_ENTRIES", 3)]:
            self._patch.setattr(module, name, value)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._patch.undo()


class TimersInSortedStores(TimerMachine):
    on_disk = False

    @initialize()
    def begin(self) -> None:
        super().begin()
        self.job = Turns(StoreMachine(SortedBackend()), TaskCopy)


TestPrograms = InSortedStores.TestCase
TestTightPrograms = TightInSortedStores.TestCase
TestTimers = TimersInSortedStores.TestCase


class TestInSortedStores(BackendSuite):
    on_disk = False

    @pytest.fixture
    def job(self) -> Iterator[Turns[Copy]]:
        turns = Turns(StoreMachine(SortedBackend()), Copy)
        yield turns
        turns.close()


class TestInSqlite(BackendSuite):
    on_disk = False

    @pytest.fixture
    def job(self, tmp_path: Any) -> Iterator[Turns[Copy]]:
        turns = Turns(StoreMachine(SqliteBackend(str(tmp_path))), Copy)
        yield turns
        turns.close()


def test_a_store_ends_with_its_task(tmp_path: Any) -> None:
    turns = Turns(StoreMachine(SqliteBackend(str(tmp_path))), Copy)
    turns.end_epoch()
    turns.begin_epoch(1)
    assert len(list(tmp_path.iterdir())) == 2
    turns.close()
    assert not list(tmp_path.iterdir())


def test_a_task_without_keyed_state_opens_no_store() -> None:
    working = InStores(OddBackend()).state_of(JOB, TASK, dict)
    working.close()


def test_places_differ_and_tell_the_task() -> None:
    places: list[StorePlace] = []

    class Noted(SortedBackend):
        def open_store(self, place: StorePlace) -> KeyValueStore:
            places.append(place)
            return super().open_store(place)

    for _ in range(2):
        InStores(Noted()).state_of(JOB, (3, 4), dict).backend(UID, NO_TIME)
    assert [(place.job_id, place.stage, place.partition) for place in places] == [(JOB, 3, 4)] * 2
    assert places[0].name != places[1].name
    assert places[0].name.startswith("job-3-4-")


def test_what_is_no_store_is_named() -> None:
    with pytest.raises(
        TypeError, match=r"open_store\(\) of the state backend OddBackend gave \{\}, which is no KeyVal"
    ):
        InStores(OddBackend()).state_of(JOB, TASK, dict).backend(UID, NO_TIME)


def test_a_store_that_fails_is_named() -> None:
    class Full(SortedBackend):
        def open_store(self, place: StorePlace) -> KeyValueStore:
            raise OSError("no space left")

    with pytest.raises(
        RuntimeError, match=r"open_store\(\) of the state backend .*Full failed: OSError: no space left"
    ):
        InStores(Full()).state_of(JOB, TASK, dict).backend(UID, NO_TIME)


@pytest.mark.parametrize("method", ["get", "write", "scan"])
def test_calls_that_fail_are_named(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(StoreMachine(SortedBackend()), Copy, workers=1)
    turns.copy.backend.at = "key"
    turns.copy.value.update(1)
    turns.copy.list.add(1)
    turns.end_epoch()
    turns.begin_epoch(0)

    def failing(*args: Any) -> Any:
        raise ValueError("disk on fire")

    monkeypatch.setattr("tests.runtime.state.store.stores.SortedStore." + method, failing)
    turns.copy.backend.at = "key"
    turns.copy.value.update(2)
    with pytest.raises(RuntimeError, match="the state store SortedStore failed: ValueError: disk on fire"):
        _use(turns)
    turns.close()


def _use(turns: Turns[Copy]) -> None:
    list(turns.copy.list.get())
    turns.copy.backend.at = "another"
    turns.copy.value.value()
    turns.end_epoch()
