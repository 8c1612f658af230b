"""All five kinds of state against dicts, on copies that follow each other by deltas."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millrace.common.time import Time
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
from millrace.runtime.state.address import Scoped, key_of
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ABSENT, ListTable

INT = Types.INT()


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class States:
    """A backend with one state of each kind."""

    def __init__(self) -> None:
        self.backend = backend = KeyedStateBackend()
        self.value = backend.get_state(ValueStateDescriptor("value", INT))
        self.list = backend.get_list_state(ListStateDescriptor("list", INT))
        self.map = backend.get_map_state(MapStateDescriptor("map", INT, INT))
        self.reduced = backend.get_reducing_state(ReducingStateDescriptor("reduced", lambda a, b: a + b, INT))
        self.average = backend.get_aggregating_state(AggregatingStateDescriptor("average", Average(), INT))

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
# The entries of a map are compared as a list: their order must not depend on the worker.
ADDRESSES = ["a", 1, Scoped("a", 1), Scoped("a", ("w", 2))]
NUMBERS = st.integers(-3, 3)


class StateMachine(RuleBasedStateMachine):
    """Random calls on the worker at hand; epochs end, workers change, new ones come."""

    @initialize()
    def begin(self) -> None:
        self.workers = [States(), States()]
        self.versions = [0, 0]
        self.deltas: list[bytes] = []
        self.at_work = 0
        self.at: Any = ADDRESSES[0]
        self.model: dict[Any, dict[str, Any]] = {}
        self.averaged: dict[Any, list[int]] = {}

    @property
    def states(self) -> States:
        states = self.workers[self.at_work]
        states.backend.at = self.at
        return states

    @property
    def row(self) -> dict[str, Any]:
        return self.model.setdefault(self.at, {**EMPTY, "list": [], "map": {}})

    @rule(at=st.sampled_from(ADDRESSES))
    def move(self, at: Any) -> None:
        self.at = at

    @rule(value=NUMBERS | st.none())
    def update_value(self, value: int | None) -> None:
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

    @rule(key=NUMBERS, value=NUMBERS | st.none())
    def put(self, key: int, value: int | None) -> None:
        self.states.map.put(key, value)
        self.row["map"][key] = value

    @rule(items=st.dictionaries(NUMBERS, NUMBERS, max_size=3))
    def put_all(self, items: dict[int, int]) -> None:
        self.states.map.put_all(items)
        self.row["map"].update(items)

    @rule(key=NUMBERS)
    def remove(self, key: int) -> None:
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

    @rule(next_worker=st.integers(0, 1))
    def end_epoch(self, next_worker: int) -> None:
        self.deltas.append(pickle.dumps(self.workers[self.at_work].backend.delta()))
        self.versions[self.at_work] = len(self.deltas)
        self.at_work = next_worker
        for delta in self.deltas[self.versions[next_worker] :]:
            self.workers[next_worker].backend.apply(pickle.loads(delta))

    @rule(full=st.booleans())
    def restart(self, full: bool) -> None:
        old = self.workers[self.at_work].backend
        self.deltas.append(pickle.dumps(old.delta()))
        fresh = States()
        for delta in [pickle.dumps(old.full())] if full else self.deltas:
            fresh.backend.apply(pickle.loads(delta))
        self.workers[self.at_work] = fresh
        self.versions[self.at_work] = len(self.deltas)

    @invariant()
    def like_the_model(self) -> None:
        states = self.workers[self.at_work]
        for at in ADDRESSES:
            row = self.model.get(at, EMPTY)
            assert states.content(at) == {**row, "map": list(row["map"].items())}
        states.backend.at = self.at
        items = self.model.get(self.at, EMPTY)["map"]
        assert list(states.map.keys()) == [key for key, _ in states.map.items()]
        assert sorted(states.map.keys()) == sorted(items)
        assert states.map.is_empty() == (not items)
        assert [key for key in range(-3, 4) if states.map.contains(key)] == sorted(items)
        assert [states.map.get(key) for key in range(-3, 4)] == [items.get(key) for key in range(-3, 4)]

    @invariant()
    def empty_entries_are_not_kept(self) -> None:
        backend = self.workers[self.at_work].backend
        for name in ("value", "list", "map", "reduced", "average"):
            table = backend.table(name)
            assert table is not None
            assert set(table.rows) == {at for at, row in self.model.items() if row[name] != EMPTY[name]}
            assert list(table.keys()) == list(dict.fromkeys(key_of(at) for at in table.rows))


TestStateMachine = StateMachine.TestCase


def backend_at(key: Any) -> KeyedStateBackend:
    backend = KeyedStateBackend()
    backend.at = key
    return backend


def test_a_delta_holds_only_what_was_touched() -> None:
    backend = backend_at("a")
    state = backend.get_state(ValueStateDescriptor("v", INT))
    state.update(1)
    backend.at = "b"
    state.update(2)
    assert backend.delta() == {"v": ("value", {"a": 1, "b": 2})}
    state.update(3)
    assert backend.delta() == {"v": ("value", {"b": 3})}
    assert backend.delta() == {}


def test_appending_to_a_list_costs_what_it_appends() -> None:
    table = ListTable()
    backend = backend_at("a")
    backend._tables["l"] = table
    state = backend.get_list_state(ListStateDescriptor("l", INT))
    state.add_all(list(range(100)))
    backend.delta()
    state.add(7)
    assert backend.delta() == {"l": ("list", {"a": (100, [7])})}


def test_the_changes_of_a_map() -> None:
    backend, copy = backend_at("a"), backend_at("a")
    state = backend.get_map_state(MapStateDescriptor("m", INT, INT))
    copied = copy.get_map_state(MapStateDescriptor("m", INT, INT))

    def changes() -> Any:
        delta = backend.delta()
        copy.apply(pickle.loads(pickle.dumps(delta)))
        assert list(copied.items()) == list(state.items())
        return delta["m"][1]["a"] if delta else None

    state.put_all({1: 1, 2: 2, 3: 3})
    assert changes() == (False, {1: 1, 2: 2, 3: 3}, [])
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


@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_none_as_result_of_the_users_function_is_cleared_too(kind: str) -> None:
    class Nothing(Average):
        def create_accumulator(self) -> Any:
            return None

        def add(self, value: Any, accumulator: Any) -> Any:
            return None

    def make() -> tuple[KeyedStateBackend, Any]:
        backend = backend_at("a")
        if kind == "reducing":
            return backend, backend.get_reducing_state(ReducingStateDescriptor("s", lambda a, b: None, INT))
        return backend, backend.get_aggregating_state(AggregatingStateDescriptor("s", Nothing(), INT))

    (backend, state), (copy, _) = make(), make()
    state.add(1)
    state.add(2)
    copy.apply(pickle.loads(pickle.dumps(backend.delta())))
    state.clear()
    copy.apply(pickle.loads(pickle.dumps(backend.delta())))
    table = copy.table("s")
    assert table is not None
    assert table.rows == {}


def test_a_map_may_change_while_one_walks_over_it() -> None:
    backend = backend_at("a")
    state = backend.get_map_state(MapStateDescriptor("m", INT, INT))
    state.put_all({1: 1, 2: 2, 3: 3})
    for key, value in state.items():
        state.remove(key)
        state.put(value + 10, value)
    assert sorted(state.keys()) == [11, 12, 13]


MAKERS: dict[str, Callable[[KeyedStateBackend], Any]] = {
    "value": lambda b: b.get_state(ValueStateDescriptor("s", INT)),
    "list": lambda b: b.get_list_state(ListStateDescriptor("s", INT)),
    "map": lambda b: b.get_map_state(MapStateDescriptor("s", INT, INT)),
    "reducing": lambda b: b.get_reducing_state(ReducingStateDescriptor("s", lambda a, c: a + c, INT)),
    "aggregating": lambda b: b.get_aggregating_state(AggregatingStateDescriptor("s", Average(), INT)),
}


@pytest.mark.parametrize("first", MAKERS)
@pytest.mark.parametrize("second", MAKERS)
def test_one_name_one_kind(first: str, second: str) -> None:
    backend = backend_at("a")
    state = MAKERS[first](backend)
    if first == second:
        assert MAKERS[second](backend) is state
    else:
        with pytest.raises(ValueError, match="one name, one kind"):
            MAKERS[second](backend)


def test_time_to_live_needs_clocks() -> None:
    descriptor = ValueStateDescriptor("s", INT)
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    state = backend_at("a").get_state(descriptor)
    with pytest.raises(RuntimeError, match="made without clocks"):
        state.update(1)
