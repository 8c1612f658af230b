"""The life of a user function, with the operator state of a ``CheckpointedFunction`` of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.functions.callables import as_map
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, OperatorHarness, Step, check_variants, run_script

COUNT = ListStateDescriptor("count", Types.INT())
RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())


class Counting(CheckpointedFunction):
    """Numbers what it sees, in an attribute; restores by adding, as Flink's examples do: that works only once."""

    def __init__(self) -> None:
        self.count = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(COUNT)
        if context.is_restored():
            for count in self.saved:
                self.count += count

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.clear()
        self.saved.add(self.count)

    def number(self, value: Any) -> tuple[Any, int]:
        self.count += 1
        return (value, self.count)


class CountingMap(Counting, MapFunction):
    def map(self, value: Any) -> Any:
        return self.number(value)


class CountingFlatMap(Counting, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield self.number(value)


class EverySecond(Counting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.number(value)[1] % 2 == 0


class CountingProcess(Counting, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)


class CountingKeyedProcess(Counting, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)


class CountingReduce(Counting, ReduceFunction):
    """(key, number of the call)."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self.number(value1[0])


class CountingCoMap(Counting, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return self.number(value)

    map2 = map1


class CountingCoFlatMap(Counting, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield self.number(value)

    flat_map2 = flat_map1


class CountingCoProcess(Counting, CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)

    process_element2 = process_element1


class CountingKeyedCoProcess(Counting, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)

    process_element2 = process_element1


class CountingBroadcast(Counting, BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)

    process_broadcast_element = process_element


class CountingKeyedBroadcast(Counting, KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self.number(value)

    process_broadcast_element = process_element


class Callable_(Counting):
    """No MapFunction, but a callable object."""

    def __call__(self, value: Any) -> Any:
        return self.number(value)


def key_selector(value: Any) -> Any:
    return value


KINDS: list[tuple[Callable[[], Function], bool, int]] = [
    (CountingMap, False, 1), (CountingFlatMap, False, 1), (CountingProcess, False, 1),
    (CountingMap, True, 1), (CountingFlatMap, True, 1), (CountingKeyedProcess, True, 1),
    (CountingCoMap, False, 2), (CountingCoFlatMap, False, 2), (CountingCoProcess, False, 2),
    (CountingCoMap, True, 2), (CountingCoFlatMap, True, 2), (CountingKeyedCoProcess, True, 2),
    (CountingBroadcast, False, 2), (CountingKeyedBroadcast, True, 2), (lambda: as_map(Callable_()), False, 1),
]  # fmt: skip
"""function, on a keyed stream?, inputs"""


@pytest.mark.parametrize(("make", "keyed", "inputs"), KINDS)
@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=8))
def test_state_in_attributes_follows_the_subtask(
    make: Callable[[], Function], keyed: bool, inputs: int, elements: list[tuple[int, int]]
) -> None:
    check_variants(
        lambda: OperatorHarness.for_function(
            make(), key_selector if keyed else None, broadcast_state_descriptors=[RULES]
        ),
        [Element(value, None, input % inputs) for value, input in elements],
        [(value, number) for number, (value, _) in enumerate(elements, 1)],
    )


@pytest.mark.parametrize("keyed", [False, True])
@given(st.lists(st.integers(0, 2), max_size=8))
def test_a_filter_with_state(keyed: bool, values: list[int]) -> None:
    check_variants(
        lambda: OperatorHarness.for_function(EverySecond(), key_selector if keyed else None),
        [Element(value) for value in values],
        values[1::2],
    )


@given(st.lists(st.integers(0, 2), max_size=8))
def test_a_reduce_with_state(keys: list[int]) -> None:
    calls, expected = 0, []
    for position, key in enumerate(keys):
        again = key in keys[:position]
        calls += again
        expected.append((key, calls if again else 0))
    script: list[Step] = [Element((key, 0)) for key in keys]
    check_variants(lambda: OperatorHarness.for_function(CountingReduce(), lambda value: value[0]), script, expected)


class CountingAsync(Counting, AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [self.number(value)]


@settings(max_examples=10)
@given(st.lists(st.integers(0, 2), max_size=6))
def test_an_async_function_with_state(values: list[int]) -> None:
    mode = AsyncFunctionDescriptor.OutputMode.ORDERED
    check_variants(
        lambda: OperatorHarness.for_function(
            AsyncFunctionDescriptor(CountingAsync(), Time.seconds(5), 1, AsyncRetryStrategy.no_restart(), mode)
        ),
        [Element(value) for value in values],
        [(value, number) for number, value in enumerate(values, 1)],
    )


LIFE: list[Any] = []


class Life(ProcessFunction, CheckpointedFunction):
    """Says what happens to it; saves the last element."""

    def __init__(self) -> None:
        self.last: int | None = None

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        names = store.get_registered_state_names()
        self.saved = store.get_union_list_state(ListStateDescriptor("last", Types.INT()))
        LIFE.append(("initialize", context.is_restored(), sorted(names), list(self.saved)))

    def open(self, runtime_context: RuntimeContext) -> None:
        LIFE.append("open")

    def process_element(self, value: int, ctx: Any) -> None:
        self.last = value

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        LIFE.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        if self.last is not None:
            self.saved.update([self.last])

    def close(self) -> None:
        LIFE.append("close")


def told() -> list[Any]:
    life = list(LIFE)
    LIFE.clear()
    return life


def test_state_is_initialized_before_open_and_saved_at_the_end_of_every_epoch() -> None:
    told()
    with OperatorHarness.for_function(Life(), processing_time=50) as harness:
        assert told() == [("initialize", False, [], []), "open"]
        harness.end_epoch()
        harness.process_element(7)
        harness.set_processing_time(60)
        harness.end_epoch()
        assert told() == [("snapshot", 1, 50), ("snapshot", 2, 60)]
        assert harness.operator_state_of("last") == [7]
        snapshot = harness.snapshot()
        other = harness.fresh().restore(snapshot).open()
        assert told() == [("initialize", True, ["last"], [7]), "open"]
        other.close()
    assert told() == ["close", "close"]


class Plain(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        LIFE.append("open")

    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        LIFE.append("close")


def test_a_function_that_is_not_checkpointed_has_no_operator_state() -> None:
    told()
    first = OperatorHarness.for_function(Plain()).open()
    first.process_element(1)
    first.fresh().apply(first.snapshot_delta()).open()
    assert told() == ["open", "open"]
    with pytest.raises(TypeError, match="MapOperator has no operator state"):
        first.operator_state_of("count")


class Keyed(CheckpointedFunction, KeyedProcessFunction):
    """Keyed state from the context of initialize_state."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ValueStateDescriptor("sum", Types.INT())
        self.sum = context.get_keyed_state_store().get_state(descriptor)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Keyed state is saved as it is."""

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value[1])
        yield (value[0], self.sum.value())


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3)), max_size=8))
def test_keyed_state_of_a_checkpointed_function(values: list[tuple[str, int]]) -> None:
    sums: dict[str, int] = {}
    expected = []
    for key, number in values:
        sums[key] = sums.get(key, 0) + number
        expected.append((key, sums[key]))
    script: list[Step] = [Element(value) for value in values]
    check_variants(lambda: OperatorHarness.for_function(Keyed(), lambda value: value[0]), script, expected)


class Fails(MapFunction, CheckpointedFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        if self.where == "initialize":
            raise ValueError("no state")
        if self.where == "keyed":
            context.get_keyed_state_store()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if self.where == "snapshot":
            raise ValueError("no state")

    def map(self, value: Any) -> Any:
        return value


def test_failures_say_where() -> None:
    for where, during, cause in (
        ("initialize", " in initialize_state()", "ValueError: no state"),
        ("snapshot", " in snapshot_state()", "ValueError: no state"),
        ("keyed", " in initialize_state()", "RuntimeError: Keyed state can only be used on a keyed stream, i.e."),
    ):
        with pytest.raises(OperatorError) as caught:
            OperatorHarness.for_function(Fails(where)).open().end_epoch()
        assert caught.value.failure.during == during
        assert caught.value.failure.cause.startswith(cause)
        location = caught.value.failure.location
        assert location is not None
        assert "test_function.py" in location


class TooEarly(CheckpointedFunction, KeyedProcessFunction):
    def __init__(self, at_the_end: bool) -> None:
        self.at_the_end = at_the_end

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.value = context.get_keyed_state_store().get_state(ValueStateDescriptor("v", Types.INT()))
        if not self.at_the_end:
            self.value.value()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.value.update(1)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.value.update(value)


@pytest.mark.parametrize("at_the_end", [False, True])
def test_keyed_state_has_no_entry_without_an_element(at_the_end: bool) -> None:
    with pytest.raises(OperatorError, match="There is no element at hand, so no key"):
        run_script(lambda: OperatorHarness.for_function(TooEarly(at_the_end), key_selector), [Element(1)])


def test_no_snapshot_of_a_closed_function() -> None:
    harness = OperatorHarness.for_function(Life()).open()
    harness.process_element(1)
    harness.end_epoch()
    harness.operator.close()
    told()
    harness.end_epoch()
    assert told() == []
