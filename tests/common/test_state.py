"""State descriptors and what the handles' base classes do by themselves."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.functions import AggregateFunction, ReduceFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


def add(a: int, b: int) -> int:
    return a + b


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class DictState(MapState[str, int]):
    """The least that a backend has to write."""

    def __init__(self) -> None:
        self.entries: dict[str, int] = {}

    def get(self, key: str) -> int | None:
        return self.entries.get(key)

    def put(self, key: str, value: int) -> None:
        self.entries[key] = value

    def put_all(self, dict_value: dict[str, int]) -> None:
        self.entries.update(dict_value)

    def remove(self, key: str) -> None:
        self.entries.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.entries

    def items(self) -> Iterable[tuple[str, int]]:
        return self.entries.items()

    def keys(self) -> Iterable[str]:
        return self.entries.keys()

    def values(self) -> Iterable[int]:
        return self.entries.values()

    def is_empty(self) -> bool:
        return not self.entries

    def clear(self) -> None:
        self.entries.clear()


def descriptors() -> list[StateDescriptor]:
    return [
        ValueStateDescriptor("v", Types.STRING()),
        ListStateDescriptor("l", Types.INT()),
        MapStateDescriptor("m", Types.STRING(), Types.INT()),
        ReducingStateDescriptor("r", add, Types.INT()),
        AggregatingStateDescriptor("a", Count(), Types.INT()),
    ]


def test_types_are_wrapped_as_in_pyflink() -> None:
    types = [descriptor.type_info for descriptor in descriptors()]
    assert types == [
        Types.STRING(),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.INT(),
        Types.INT(),
    ]


def test_descriptors_pickle() -> None:
    for descriptor in descriptors():
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
        copy = pickle.loads(pickle.dumps(descriptor))
        assert (copy.get_name(), copy.type_info) == (descriptor.get_name(), descriptor.type_info)
        assert copy.get_ttl_config().get_ttl() == Time.seconds(1)


def test_a_callable_becomes_a_reduce_function() -> None:
    function = ReducingStateDescriptor("r", add, Types.INT()).get_reduce_function()
    assert isinstance(function, ReduceFunction)
    assert function.reduce(2, 3) == 5


def test_functions_are_checked() -> None:
    with pytest.raises(TypeError, match="The input must be a ReduceFunction or a callable function, not 3"):
        ReducingStateDescriptor("r", 3, Types.INT())
    with pytest.raises(TypeError, match=r"functions\.AggregateFunction, not <function add"):
        AggregatingStateDescriptor("a", add, Types.INT())  # type: ignore[arg-type]


def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        ValueStateDescriptor("", Types.INT())
    with pytest.raises(TypeError, match="must be a string, not None"):
        ValueStateDescriptor(None, Types.INT())  # type: ignore[arg-type]


def test_types_are_checked() -> None:
    with pytest.raises(TypeError, match="The type of state 'v' must be a TypeInformation"):
        ValueStateDescriptor("v", Types.INT)  # type: ignore[arg-type]  # the brackets are missing
    with pytest.raises(TypeError, match="The element type of state 'l'"):
        ListStateDescriptor("l", int)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="The value type of state 'm'"):
        MapStateDescriptor("m", Types.INT(), None)  # type: ignore[arg-type]


def test_time_to_live() -> None:
    descriptor = ValueStateDescriptor("v", Types.INT())
    assert descriptor.get_ttl_config() is None
    ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
    descriptor.enable_time_to_live(ttl)
    assert descriptor.get_ttl_config() is ttl
    disabled = StateTtlConfig.new_builder(Time.hours(1)).set_update_type(StateTtlConfig.UpdateType.Disabled).build()
    descriptor.enable_time_to_live(disabled)
    assert descriptor.get_ttl_config() is None
    with pytest.raises(TypeError, match="must be a StateTtlConfig"):
        descriptor.enable_time_to_live(Time.hours(1))  # type: ignore[arg-type]


def test_map_state_reads_like_a_dictionary() -> None:
    state = DictState()
    state["a"] = 1
    state.put_all({"b": 2})
    assert "a" in state
    assert "c" not in state
    assert (state["b"], state["c"]) == (2, None)
    assert list(state) == ["a", "b"]
    del state["a"]
    assert dict(state.items()) == {"b": 2}


def test_list_state_iterates_over_its_elements() -> None:
    class Elements(ListState[int]):
        def get(self) -> Iterable[int]:
            return [1, 2]

        def add(self, value: int) -> None: ...

        def add_all(self, values: list[int]) -> None: ...

        def update(self, values: list[int]) -> None: ...

        def clear(self) -> None: ...

    assert list(Elements()) == [1, 2]


def test_broadcast_state_can_be_read_as_read_only() -> None:
    assert issubclass(BroadcastState, ReadOnlyBroadcastState)
    assert not hasattr(ReadOnlyBroadcastState, "put")
    assert not issubclass(MapState, ReadOnlyBroadcastState)
