"""What every state backend has to do: tests to inherit, and random programs against plain dicts and lists.

A backend is driven as a task drives it: copies in several worker processes take turns, each catches up before it runs an
epoch; epochs fail; whole states are written; workers and their disks are lost.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millrace.common.time import Time
from millrace.common.types import Row
from millrace.common.typeinfo import Types
from millrace.datastream.functions import AggregateFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import TimeWindow
from millrace.runtime.state.address import Scoped, key_of
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import NO_TIME, StateTime
from millrace.runtime.state.tables import ABSENT
from millrace.runtime.state.working import OutdatedCopyError, WorkingState
from millrace.runtime.storage import MemoryStorage

ANY = Types.PICKLED_BYTE_ARRAY()
TASK = (0, 0)
UID = "operator"


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class Copy:
    """A copy of a task with one keyed operator, which has a state of each kind."""

    def __init__(self, working: WorkingState, time: StateTime = NO_TIME) -> None:
        self.working = working
        self.version: int | None = None
        self.backend = backend = working.backend(UID, time)
        self.value = backend.get_state(ValueStateDescriptor("value", ANY))
        self.list = backend.get_list_state(ListStateDescriptor("list", ANY))
        self.map = backend.get_map_state(MapStateDescriptor("map", ANY, ANY))
        self.reduced = backend.get_reducing_state(ReducingStateDescriptor("reduced", lambda a, b: a + b, ANY))
        self.average = backend.get_aggregating_state(AggregatingStateDescriptor("average", Average(), ANY))

    def content(self, at: Any) -> dict[str, Any]:
        self.backend.at = at
        return {
            "value": self.value.value(),
            "list": list(self.list.get()),
            "map": list(self.map.items()),
            "reduced": self.reduced.get(),
            "average": self.average.get(),
        }

    def bring_up(self, history: tuple[int, ...], storage: MemoryStorage) -> None:
        for _, piece in self.working.changes(TASK, self.version, history, storage):
            keyed = piece.get(UID, (None,))[0]
            if keyed is not None:
                self.backend.apply(keyed)
        self.version = history[-1] if history else 0

    def finish(self, epoch: int, storage: MemoryStorage, whole: bool = False) -> None:
        delta = {UID: (self.backend.delta(), None, None, None, None)}
        storage.write_delta(TASK, epoch, delta)
        if whole:
            pieces = ({UID: (piece, None, None, None, None)} for piece in self.backend.full_pieces())
            storage.write_full(TASK, epoch, pieces)
        self.working.finish(epoch, delta)
        self.version = epoch


class Job:
    """The epochs of a task, as the driver knows them, and the workers."""

    def __init__(self, new_state: Callable[[], WorkingState], workers: int = 2) -> None:
        self.new_state = new_state
        self.storage = MemoryStorage()
        self.history: tuple[int, ...] = ()
        self.epoch = 1
        self.workers: list[Copy | None] = [None] * workers
        self.at_work = 0
        self.move_to(0)

    @property
    def copy(self) -> Copy:
        working = self.workers[self.at_work]
        assert working is not None
        return working

    def move_to(self, worker: int) -> None:
        """The next epoch begins, in this worker."""
        self.at_work = worker
        known = self.workers[worker]
        if known is not None:
            try:
                known.bring_up(self.history, self.storage)
                return
            except OutdatedCopyError:
                known.working.close()
        new = self.workers[worker] = Copy(self.new_state())
        new.bring_up(self.history, self.storage)

    def end_epoch(self, whole: bool = False) -> None:
        self.copy.finish(self.epoch, self.storage, whole)
        self.history = (*self.history, self.epoch)
        if whole:
            self.storage.discard(TASK, self.epoch)
            self.history = (self.epoch,)
        self.epoch += 1

    def fail_epoch(self, after_its_end: bool) -> None:
        """What the epoch did does not count; its copy is thrown away, or found to be of no use later."""
        if after_its_end:
            self.copy.finish(self.epoch, self.storage)
        else:
            self.copy.working.close()
            self.workers[self.at_work] = None
        self.epoch += 1

    def lose_worker(self, worker: int) -> None:
        """A process is killed: nobody closes anything."""
        self.workers[worker] = None

    def close(self) -> None:
        for known in self.workers:
            if known is not None:
                known.working.close()


EMPTY = {"value": None, "list": [], "map": {}, "reduced": None, "average": None}
ADDRESSES = [
    "a",
    1,
    Scoped("a", 1),
    Scoped("a", ("w", 2)),
    Scoped(1, TimeWindow(0, 5)),
    Row(1, "x"),
    Row(2, "x"),
    ("k" * 600, 2),
    frozenset({"f", "g"}),
    -(2**70),
]
NUMBERS = st.integers(-3, 3)
MAP_KEYS = [-1, 0, 2, "two", Row("r", 1), Row("r", 2), ("t", None), 2.5, "l" * 700]


class BackendMachine(RuleBasedStateMachine):
    """Random calls on the copy at hand; epochs end and fail, workers change and are lost, whole states are written.

    The entries of a map are compared as a list: their order must not depend on the worker.
    """

    def new_state(self) -> WorkingState:
        raise NotImplementedError

    def lose_disk(self) -> None:
        """Delete what a machine keeps locally."""

    @initialize()
    def begin(self) -> None:
        self.job = Job(self.new_state)
        self.at: Any = ADDRESSES[0]
        self.model: dict[Any, dict[str, Any]] = {}
        self.averaged: dict[Any, list[int]] = {}
        self.saved = copy.deepcopy((self.model, self.averaged))

    @property
    def states(self) -> Copy:
        states = self.job.copy
        states.backend.at = self.at
        return states

    @property
    def row(self) -> dict[str, Any]:
        return self.model.setdefault(self.at, {**EMPTY, "list": [], "map": {}})

    # -- what functions do ----------------------------------------------------------------------------------------

    @rule(at=st.sampled_from(ADDRESSES))
    def move(self, at: Any) -> None:
        self.at = at

    @rule(value=NUMBERS | st.none() | st.text(max_size=3) | st.lists(NUMBERS, max_size=2) | st.datetimes())
    def update_value(self, value: Any) -> None:
        self.states.value.update(value)
        self.row["value"] = value

    @rule(value=NUMBERS)
    def add_to_list(self, value: int) -> None:
        self.states.list.add(value)
        self.row["list"].append(value)

    @rule(values=st.lists(NUMBERS, max_size=3), all_new=st.booleans())
    def many_to_list(self, values: list[int], all_new: bool) -> None:
        if all_new:
            self.states.list.update(values)
            self.row["list"] = list(values)
        else:
            self.states.list.add_all(values)
            self.row["list"] += values

    @rule(key=st.sampled_from(MAP_KEYS), value=NUMBERS | st.none())
    def put(self, key: Any, value: int | None) -> None:
        self.states.map.put(key, value)
        self.row["map"][key] = value

    @rule(items=st.dictionaries(st.sampled_from(MAP_KEYS), NUMBERS, max_size=3))
    def put_all(self, items: dict[Any, int]) -> None:
        self.states.map.put_all(items)
        self.row["map"].update(items)

    @rule(key=st.sampled_from(MAP_KEYS))
    def remove(self, key: Any) -> None:
        self.states.map.remove(key)
        self.row["map"].pop(key, None)

    @rule(value=NUMBERS)
    def reduce(self, value: int) -> None:
        self.states.reduced.add(value)
        self.row["reduced"] = (self.row["reduced"] or 0) + value

    @rule(value=NUMBERS)
    def aggregate(self, value: int) -> None:
        self.states.average.add(value)
        values = self.averaged.setdefault(self.at, [])
        values.append(value)
        self.row["average"] = sum(values) / len(values)

    @rule(kind=st.sampled_from(["value", "list", "map", "reduced", "average"]))
    def clear(self, kind: str) -> None:
        getattr(self.states, kind).clear()
        self.row[kind] = {"list": [], "map": {}}.get(kind)
        if kind == "average":
            self.averaged[self.at] = []

    @rule(others=st.lists(st.sampled_from(ADDRESSES[2:5]), max_size=2, unique=True))
    def absorb(self, others: list[Any]) -> None:
        others = [other for other in others if other != self.at]
        self.states.list.absorb(others)
        self.states.reduced.absorb(others)
        for other in others:
            left = self.model.get(other)
            if left is not None:
                self.row["list"] += left["list"]
                if left["reduced"] is not None:
                    self.row["reduced"] = (self.row["reduced"] or 0) + left["reduced"]
                left["list"], left["reduced"] = [], None

    # -- what the engine does -------------------------------------------------------------------------------------

    @rule(next_worker=st.integers(0, 1), whole=st.booleans())
    def end_epoch(self, next_worker: int, whole: bool) -> None:
        self.job.end_epoch(whole)
        self.saved = copy.deepcopy((self.model, self.averaged))
        self.job.move_to(next_worker)

    @rule(next_worker=st.integers(0, 1), after_its_end=st.booleans())
    def fail_epoch(self, next_worker: int, after_its_end: bool) -> None:
        self.job.fail_epoch(after_its_end)
        self.model, self.averaged = copy.deepcopy(self.saved)
        self.job.move_to(next_worker)

    @rule(lost=st.integers(0, 1), disk=st.booleans())
    def lose_workers(self, lost: int, disk: bool) -> None:
        """A worker dies between two epochs, perhaps with its machine; the other one goes on."""
        self.job.end_epoch()
        self.saved = copy.deepcopy((self.model, self.averaged))
        self.job.lose_worker(lost)
        if disk:
            self.job.lose_worker(1 - lost)
            self.lose_disk()
        self.job.move_to(1 - lost)

    # -- what must be true ----------------------------------------------------------------------------------------

    @invariant()
    def here_like_the_model(self) -> None:
        row = self.model.get(self.at, EMPTY)
        assert self.job.copy.content(self.at) == {**row, "map": list(row["map"].items())}

    @rule()
    def look_closer(self) -> None:
        states, items = self.states, self.row["map"]
        assert list(states.map.keys()) == list(items)
        assert states.map.is_empty() == (not items)
        assert [key for key in MAP_KEYS if states.map.contains(key)] == [key for key in MAP_KEYS if key in items]
        assert [states.map.get(key) for key in MAP_KEYS] == [items.get(key) for key in MAP_KEYS]

    @rule()
    def look_everywhere(self) -> None:
        for at in ADDRESSES:
            row = self.model.get(at, EMPTY)
            assert self.job.copy.content(at) == {**row, "map": list(row["map"].items())}
        self.empty_entries_are_not_kept()
        self.the_whole_state_is_that_of_a_heap()

    def empty_entries_are_not_kept(self) -> None:
        backend = self.job.copy.backend
        for name in EMPTY:
            table = backend.table(name)
            assert table is not None
            addresses = list(table.addresses())
            assert len(addresses) == len(set(addresses))
            assert set(addresses) == {at for at, row in self.model.items() if row[name] != EMPTY[name]}
            keys = list(table.keys())
            assert len(keys) == len(set(keys))
            assert set(keys) == set(map(key_of, addresses))

    def the_whole_state_is_that_of_a_heap(self) -> None:
        heap = KeyedStateBackend()
        for piece in self.job.copy.backend.full_pieces():
            heap.apply(pickle.loads(pickle.dumps(piece)))
        for name in ("value", "list", "map", "reduced"):
            table = heap.table(name)
            rows = {} if table is None else dict(table.rows)
            assert rows == {at: row[name] for at, row in self.model.items() if row[name] != EMPTY[name]}
            if name == "map":
                assert all(list(found) == list(self.model[at]["map"]) for at, found in rows.items())

    def teardown(self) -> None:
        if hasattr(self, "job"):
            try:
                self.look_everywhere()
            finally:
                self.job.close()
