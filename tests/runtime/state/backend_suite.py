"""What every state backend has to do: tests to inherit, and random programs against plain dicts and lists.

A backend is driven as a task drives it: copies in several processes take turns, each new one is built from
files; epochs fail; whole states are written; workers and their disks are lost; between epochs timers fire.
"""

from __future__ import annotations

import copy
import decimal
import enum
import pickle
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.runtime.state.copies import Machine, TaskCopy, Turns, whole_of

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.common.types import Row
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
from millrace.runtime.state.address import NoKey, Scoped, key_of
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ABSENT
from millrace.runtime.state.working import WorkingState
from millrace.runtime.timers import TimerId

ANY = Types.PICKLED_BYTE_ARRAY()


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class Copy(TaskCopy):
    """A copy with a state of each kind."""

    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        backend = self.backend
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


class EngineMachine(RuleBasedStateMachine):
    """What an engine does with copies of a task. ``Turns`` are made by subclasses, which know the model, too."""

    on_disk: bool
    job: Turns[Any]
    resting: ExitStack | None = None
    """open while timers fire between two epochs"""

    def save(self) -> None:
        """The model is what counts now."""
        raise NotImplementedError

    def go_back(self) -> None:
        """The model is what it was when it was saved."""
        raise NotImplementedError

    def settle(self) -> None:
        """An epoch begins, if none is there. What timers have done since the last one is part of it."""
        if self.resting is not None:
            self.resting.close()
            self.resting = None
            self.job.go_on()

    @rule(next_worker=st.integers(0, 1), whole=st.booleans())
    def end_epoch(self, next_worker: int, whole: bool) -> None:
        self.settle()
        self.job.end_epoch(whole)
        self.save()
        self.job.begin_epoch(next_worker)

    @rule(next_worker=st.integers(0, 1), after_its_end=st.booleans())
    def fail_epoch(self, next_worker: int, after_its_end: bool) -> None:
        self.settle()
        self.job.fail_epoch(after_its_end)
        self.go_back()
        self.job.begin_epoch(next_worker)

    @rule(whole=st.booleans())
    def rest(self, whole: bool) -> None:
        """The epoch is over, and timers fire: what happens from now on."""
        self.settle()
        self.job.end_epoch(whole)
        self.save()
        self.fire_again()

    @rule()
    @precondition(lambda self: self.resting is not None)
    def fire_again(self) -> None:
        if self.resting is not None:
            self.resting.close()
        self.resting = ExitStack()
        self.resting.enter_context(self.job.between_epochs())

    @rule(next_worker=st.integers(0, 1), killed=st.booleans())
    @precondition(lambda self: self.resting is not None)
    def drop(self, next_worker: int, killed: bool) -> None:
        """The next epoch does not begin with the copy that has fired."""
        if self.resting is not None and not killed:
            self.resting.close()
        self.resting = None
        self.job.drop(killed)
        self.go_back()
        self.job.begin_epoch(next_worker)


class BackendMachine(EngineMachine):
    """Random calls on the copy at hand; epochs end and fail, workers change and are lost, whole states are written.

    The entries of a map are compared as a list: their order must not depend on the worker.
    """

    @initialize()
    def begin(self) -> None:
        self.job = Turns(Machine(self.on_disk), Copy)
        self.at: Any = ADDRESSES[0]
        self.model: dict[Any, dict[str, Any]] = {}
        self.averaged: dict[Any, list[int]] = {}
        self.save()

    def save(self) -> None:
        self.saved = copy.deepcopy((self.model, self.averaged))

    def go_back(self) -> None:
        self.model, self.averaged = copy.deepcopy(self.saved)

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

    @rule(lost=st.integers(0, 1), disk=st.booleans())
    def lose_workers(self, lost: int, disk: bool) -> None:
        """A worker dies between two epochs, perhaps with its machine; the other one goes on."""
        self.settle()
        self.job.end_epoch()
        self.save()
        self.job.lose_worker(lost)
        if disk:
            self.job.lose_worker(1 - lost)
            self.job.machine.lose_disk()
        self.job.begin_epoch(1 - lost)

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
                self.settle()
                self.look_everywhere()
            finally:
                self.job.close()


TIMES = st.integers(-2, 6) | st.just(2**63 - 1)
TIMER_ADDRESSES = ["a", "b", 1, (2, "w"), Scoped("a", TimeWindow(0, 5)), Row("r"), frozenset({3})]


class TimerMachine(EngineMachine):
    """Event-time timers against a list, on copies that take turns."""

    @initialize()
    def begin(self) -> None:
        self.job = Turns(Machine(self.on_disk), TaskCopy)
        self.model: list[tuple[int, int, Any]] = []
        """(time, number of its registration, address)"""
        self.saved: list[tuple[int, int, Any]] = []
        self.registered = 0

    def save(self) -> None:
        self.saved = list(self.model)

    def go_back(self) -> None:
        self.model = list(self.saved)

    @property
    def queue(self) -> Any:
        return self.job.copy.backend.event_timers

    def find(self, time: int, at: Any) -> list[tuple[int, int, Any]]:
        return [timer for timer in self.model if (timer[0], timer[2]) == (time, at)]

    @rule(time=TIMES, at=st.sampled_from(TIMER_ADDRESSES))
    def register(self, time: int, at: Any) -> None:
        self.queue.register(time, at)
        if not self.find(time, at):
            self.registered += 1
            self.model.append((time, self.registered, at))

    @rule(time=TIMES, at=st.sampled_from(TIMER_ADDRESSES))
    def delete(self, time: int, at: Any) -> None:
        self.queue.delete(time, at)
        self.model = [timer for timer in self.model if timer not in self.find(time, at)]

    @rule()
    def clear(self) -> None:
        self.queue.clear()
        self.model = []

    @rule(time=TIMES)
    def pop(self, time: int) -> None:
        due = min((timer for timer in self.model if timer[0] <= time), key=lambda timer: timer[:2], default=None)
        found = self.queue.pop_due(time)
        assert found == (None if due is None else (due[0], due[2]))
        if due is not None:
            self.model.remove(due)

    @rule()
    def look(self) -> None:
        assert self.queue.next_time() == min((time for time, _, _ in self.model), default=None)
        assert len(self.queue) == len(self.model)
        for at in TIMER_ADDRESSES:
            assert self.queue.times(at) == sorted(time for time, _, address in self.model if address == at)

    @rule(disk=st.booleans())
    def lose_all_workers(self, disk: bool) -> None:
        self.settle()
        self.job.end_epoch()
        self.save()
        for worker in (0, 1):
            self.job.lose_worker(worker)
        if disk:
            self.job.machine.lose_disk()
        self.job.begin_epoch(0)

    def teardown(self) -> None:
        if hasattr(self, "job"):
            try:
                self.settle()
                self.all_fire_in_order()
            finally:
                self.job.close()

    def all_fire_in_order(self) -> None:
        expected = [(time, at) for time, _, at in sorted(self.model, key=lambda timer: timer[:2])]
        heap = KeyedStateBackend()
        for piece in self.job.copy.backend.full_pieces():
            heap.apply(piece)
        assert _fired(heap.event_timers) == expected
        assert _fired(self.queue) == expected


def _fired(queue: Any) -> list[TimerId]:
    found = []
    while (timer := queue.pop_due(2**63 - 1)) is not None:
        found.append(timer)
    return found


class Colour(str, enum.Enum):
    RED = "red"


Pair = namedtuple("Pair", "left right")

MAKERS: dict[str, Callable[[KeyedStateBackend], Any]] = {
    "value": lambda b: b.get_state(ValueStateDescriptor("s", ANY)),
    "list": lambda b: b.get_list_state(ListStateDescriptor("s", ANY)),
    "map": lambda b: b.get_map_state(MapStateDescriptor("s", ANY, ANY)),
    "reducing": lambda b: b.get_reducing_state(ReducingStateDescriptor("s", lambda a, c: a + c, ANY)),
    "aggregating": lambda b: b.get_aggregating_state(AggregatingStateDescriptor("s", Average(), ANY)),
}


class BackendSuite:
    """Single things. A subclass says which backend it is for."""

    on_disk: bool

    @pytest.fixture
    def job(self) -> Iterator[Turns[Copy]]:
        turns = Turns(Machine(self.on_disk), Copy)
        yield turns
        turns.close()

    @pytest.fixture
    def backend(self, job: Turns[Copy]) -> KeyedStateBackend:
        backend = self.new_backend(job)
        backend.at = "a"
        return backend

    def new_backend(self, job: Turns[Copy]) -> KeyedStateBackend:
        """An empty backend, of another task."""
        return TaskCopy(job.machine.plan.state_of("other", (0, 0), dict)).backend

    # -- deltas -----------------------------------------------------------------------------------------------------

    def test_a_delta_holds_only_what_was_touched(self, backend: KeyedStateBackend) -> None:
        state = backend.get_state(ValueStateDescriptor("v", ANY))
        state.update(1)
        backend.at = "b"
        state.update(2)
        assert backend.delta() == {"v": ("value", {"a": 1, "b": 2})}
        state.update(3)
        assert backend.delta() == {"v": ("value", {"b": 3})}
        assert backend.delta() == {}

    def test_appending_to_a_list_costs_what_it_appends(self, job: Turns[Copy]) -> None:
        for value in (list(range(100)), [100], []):
            job.copy.backend.at = "a"
            job.copy.list.add_all(value)
            job.end_epoch()
            job.begin_epoch(job.epoch % 2)
        deltas = [job.storage.read_delta((0, 0), epoch)["operator"][0] for epoch in (1, 2, 3)]
        assert deltas == [{"list": ("list", {"a": (0, list(range(100)))})}, {"list": ("list", {"a": (100, [100])})}, {}]

    def test_the_changes_of_a_map(self, backend: KeyedStateBackend, job: Turns[Copy]) -> None:
        copy = self.new_backend(job)
        copy.at = "a"
        state = backend.get_map_state(MapStateDescriptor("m", ANY, ANY))
        copied = copy.get_map_state(MapStateDescriptor("m", ANY, ANY))

        def changes() -> Any:
            delta = backend.delta()
            copy.apply(pickle.loads(pickle.dumps(delta)))
            assert list(copied.items()) == list(state.items())
            return delta["m"][1]["a"] if delta else None

        state.put_all({1: 1, 2: 2, 3: 3})
        assert changes()[1:] == ({1: 1, 2: 2, 3: 3}, [])  # of a new map it is the same, whether from nothing or not
        state.put(2, 22)
        assert changes() == (False, {2: 22}, [])
        state.remove(1)
        assert changes() == (False, {1: ABSENT}, [])
        state.remove(2)
        state.put(4, 4)
        state.put(2, 2)
        assert changes() == (False, {4: 4, 2: 2}, [2])
        state.clear()
        state.put(7, 7)
        assert changes() == (True, {7: 7}, [])
        assert changes() is None
        state.clear()
        assert changes() is ABSENT
        assert changes() is None

    # -- states -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("kind", ["reducing", "aggregating"])
    def test_none_as_result_of_the_users_function_is_cleared_too(
        self, backend: KeyedStateBackend, job: Turns[Copy], kind: str
    ) -> None:
        class Nothing(Average):
            def create_accumulator(self) -> Any:
                return None

            def add(self, value: Any, accumulator: Any) -> Any:
                return None

        def state_of(backend: KeyedStateBackend) -> Any:
            if kind == "reducing":
                return backend.get_reducing_state(ReducingStateDescriptor("s", lambda a, b: None, ANY))
            return backend.get_aggregating_state(AggregatingStateDescriptor("s", Nothing(), ANY))

        copy = self.new_backend(job)
        state = state_of(backend)
        state.add(1)
        state.add(2)
        copy.apply(pickle.loads(pickle.dumps(backend.delta())))
        state.clear()
        copy.apply(pickle.loads(pickle.dumps(backend.delta())))
        table = copy.table("s")
        assert table is not None
        assert list(table.addresses()) == []

    def test_a_map_may_change_while_one_walks_over_it(self, backend: KeyedStateBackend) -> None:
        state = backend.get_map_state(MapStateDescriptor("m", ANY, ANY))
        state.put_all({1: 1, 2: 2, 3: 3})
        for key, value in state.items():
            state.remove(key)
            state.put(value + 10, value)
        assert sorted(state.keys()) == [11, 12, 13]

    def test_a_table_may_change_while_one_walks_over_its_keys(self, job: Turns[Copy]) -> None:
        for epoch in range(3):
            copy = job.copy
            for key in range(100 * epoch, 100 * epoch + 100):
                copy.backend.at = key
                copy.value.update(key)
            if epoch < 2:
                job.end_epoch()
                job.begin_epoch(epoch)
        copy, seen = job.copy, []
        table = copy.backend.table("value")
        assert table is not None
        for key in table.keys():  # noqa: SIM118  a table is no dict
            seen.append(key)
            copy.backend.at = key
            copy.value.clear()
            copy.backend.at = -key - 1
            copy.value.update(key)
        assert sorted(seen) == list(range(300))
        assert sorted(table.keys()) == list(range(-300, 0))

    @pytest.mark.parametrize("first", MAKERS)
    @pytest.mark.parametrize("second", MAKERS)
    def test_one_name_one_kind(self, backend: KeyedStateBackend, first: str, second: str) -> None:
        state = MAKERS[first](backend)
        if first == second:
            assert MAKERS[second](backend) is state
        else:
            with pytest.raises(ValueError, match="one name, one kind"):
                MAKERS[second](backend)

    def test_time_to_live_needs_clocks(self, backend: KeyedStateBackend) -> None:
        descriptor = ValueStateDescriptor("s", ANY)
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
        state = backend.get_state(descriptor)
        with pytest.raises(RuntimeError, match="made without clocks"):
            state.update(1)

    @pytest.mark.parametrize("use", [
        lambda copy: copy.value.value(), lambda copy: copy.value.update(1), lambda copy: copy.list.get(),
        lambda copy: copy.list.add(1), lambda copy: copy.map.get(1), lambda copy: copy.map.put(1, 1),
        lambda copy: copy.reduced.add(1), lambda copy: copy.average.get(),
    ])  # fmt: skip
    def test_without_a_key_there_is_no_state(self, job: Turns[Copy], use: Callable[[Copy], Any]) -> None:
        job.copy.backend.at = NoKey("no key here")
        with pytest.raises(RuntimeError, match="no key here"):
            use(job.copy)

    # -- keys -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("equal", [
        [1, 1.0, True, decimal.Decimal(1)], [0, -0.0, False], ["red", Colour.RED], [(1, 2), Pair(1, 2), (True, 2.0)],
        [0.5, decimal.Decimal("0.5")], [Row(a=1, b=2), Row(b=2, a=1)], [2**80, 2.0**80],
    ])  # fmt: skip
    def test_equal_keys_are_one(self, job: Turns[Copy], equal: list[Any]) -> None:
        for number, key in enumerate(equal):
            copy = job.copy
            copy.backend.at = key
            assert copy.value.value() == (number or None)
            copy.value.update(number + 1)
            copy.list.add(number)
            assert copy.map.get(key) == (number or None)
            copy.map.put(key, number + 1)
            copy.backend.event_timers.register(5, key)
            job.end_epoch()
            job.begin_epoch(number % 2)
        job.copy.backend.at = equal[0]
        assert list(job.copy.list.get()) == list(range(len(equal)))
        assert list(job.copy.map.items()) == [(equal[0], len(equal))]
        assert len(job.copy.backend.event_timers) == 1

    def test_keys_that_differ_are_not_mixed_up(self, job: Turns[Copy]) -> None:
        keys = [
            *("", "a", b"a", b"", None, (), ("a",), (("a",),), ("a", None), ("a", ("b",)), (("a", "b"),), "a" * 5_000),
            *(b"\xff" * 300, 0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0.25, float("inf"), "\ud800", "\x00"),
            *(Row("a"), Row("b"), frozenset("a"), frozenset("b"), Colour, decimal.Decimal("0.1"), TimeWindow(0, 1)),
        ]
        for number, key in enumerate(keys):
            job.copy.backend.at = key
            job.copy.value.update(number)
            job.copy.backend.at = "one"
            job.copy.map.put(key, number)
        job.end_epoch()
        job.begin_epoch(1)
        for number, key in enumerate(keys):
            job.copy.backend.at = key
            assert job.copy.value.value() == number
            job.copy.backend.at = "one"
            assert job.copy.map.get(key) == number
        assert list(job.copy.map.items()) == [(key, number) for number, key in enumerate(keys)]
        assert whole_of(job.copy.backend)["value"][1] == {key: number for number, key in enumerate(keys)}

    # -- much of it -------------------------------------------------------------------------------------------------

    def test_long_lists_and_large_maps(self, job: Turns[Copy]) -> None:
        elements: list[Any] = []
        items: dict[Any, Any] = {}
        for epoch in range(6):
            copy = job.copy
            copy.backend.at = "big"
            added = [f"element {epoch} {n}" for n in range((10, 3_000, 1, 9_000, 5, 0)[epoch])]
            copy.list.add_all(added)
            elements += added
            for n in range(epoch * 100, epoch * 100 + 300):
                copy.map.put(n, (epoch, n))
                items[n] = (epoch, n)
            for n in range(epoch * 100, epoch * 100 + 50):
                copy.map.remove(n)
                del items[n]
            copy.backend.at = epoch
            copy.list.add(epoch)
            copy.map.put(epoch, epoch)
            job.end_epoch()
            job.begin_epoch(epoch % 2)
            job.copy.backend.at = "big"
            assert list(job.copy.list.get()) == elements
            assert list(job.copy.map.items()) == list(items.items())
        lists, maps = whole_of(job.copy.backend)["list"][1], whole_of(job.copy.backend)["map"][1]
        assert lists == {"big": (0, elements), **{epoch: (0, [epoch]) for epoch in range(6)}}
        assert {at: list(row.items()) for at, (_, row, _) in maps.items()} == {
            "big": list(items.items()),
            **{epoch: [(epoch, epoch)] for epoch in range(6)},
        }
        assert set(job.copy.backend.table("map").addresses()) == {"big", *range(6)}  # type: ignore[union-attr]
