"""``check_variants`` finds what it is for: one faulty operator per kind of fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.functions.callables import as_map
from millrace.common.typeinfo import Types
from millrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.elements import Chunk
from millrace.runtime.operators.one_input_operators import KeyedProcessOperator, MapOperator
from millrace.testing import (
    Element,
    EndInput,
    EpochEnd,
    OperatorHarness,
    ProcessingTime,
    Record,
    SliceEnd,
    Status,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
    run_script,
    steps,
)

NUMBERS: list[Step] = [Element(n, n) for n in range(6)]


class CountsInAttribute(MapFunction):
    """The fault: a field of the function is no state."""

    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> int:
        self.count += 1
        return self.count


def test_finds_state_that_is_not_in_the_snapshot() -> None:
    with pytest.raises(AssertionError, match=r"(?s)variant 'snapshot and restore.*first difference at 1") as caught:
        check_variants(lambda: OperatorHarness.for_function(CountsInAttribute()), NUMBERS, [1, 2, 3, 4, 5, 6])
    assert "wanted: [Record(value=2" in str(caught.value)


class Batches(MapOperator):
    """The fault: results depend on the chunks."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.emit([len(chunk)], None)


def test_finds_dependence_on_chunks() -> None:
    with pytest.raises(AssertionError, match="variant 'one by one'"):
        check_variants(lambda: OperatorHarness(lambda: Batches(as_map(str))), NUMBERS)


class FirstSlice(MapOperator):
    """The fault: of what is held back only the first slice of an epoch hands something on."""

    def open(self) -> None:
        super().open()
        self.held: list[Any] = []
        self.first = True

    def process(self, chunk: Chunk, input: int) -> None:
        self.held += chunk.values

    def end_slice(self) -> None:
        held, self.held = self.held, []
        if self.first:
            self.emit(held, None)
        self.first = False

    def end_epoch(self) -> None:
        self.first = True


def test_finds_dependence_on_slices() -> None:
    with pytest.raises(AssertionError, match=r"variant 'random slices, seed 7'"):
        check_variants(lambda: OperatorHarness(lambda: FirstSlice(as_map(str))), NUMBERS, seed=7)


class Forgetful(KeyedProcessOperator):
    """The fault: a delta is taken twice, so the second copy misses one."""

    def end_epoch(self) -> None:
        self.keyed_state().delta()


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value)
        yield self.sum.value()


def test_finds_changes_that_are_not_in_a_delta() -> None:
    def make() -> OperatorHarness:
        return OperatorHarness(lambda: Forgetful(Sum()), key_selectors=[lambda v: 0])

    with pytest.raises(AssertionError, match=r"variant 'rebuilt from deltas, seed \d+'"):
        check_variants(make, NUMBERS, seed=7)


def test_the_seed_repeats_a_failure() -> None:
    def message() -> str:
        with pytest.raises(AssertionError) as caught:
            check_variants(
                lambda: OperatorHarness(lambda: Forgetful(Sum()), key_selectors=[lambda v: 0]), NUMBERS, seed=7
            )
        return str(caught.value)

    assert message() == message()
    assert "seed 7" in message()


def same() -> OperatorHarness:
    return OperatorHarness.for_function(as_map(lambda v: v))


@pytest.mark.parametrize(
    "expected", [[0, 1, 2, 3, 4], [0, 1, 2, 3, 5, 4], [Record(n, n + 1) for n in range(6)], [Watermark(1)]]
)
def test_finds_unexpected_output(expected: list[Any]) -> None:
    with pytest.raises(AssertionError, match="variant 'all at once': not as expected"):
        check_variants(same, NUMBERS, expected)


def test_expected_in_all_its_forms() -> None:
    script: list[Step] = [Element(2, 2), WatermarkStep(1), Element(1, 1)]
    check_variants(same, script, [2, 1])
    check_variants(same, script, [Record(2, 2), Watermark(1), Record(1, 1)])
    check_variants(same, script, [1, 2], ordered=False)
    check_variants(same, [Element((k, n)) for n in range(3) for k in "ab"], [
        ("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)
    ], key=lambda value: value[0])  # fmt: skip
    with pytest.raises(AssertionError, match="not as expected"):
        check_variants(same, [Element(("a", 1)), Element(("a", 2))], [("a", 2), ("a", 1)], key=lambda value: value[0])


class Sides(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield OutputTag("side"), value


def test_side_outputs_are_compared() -> None:
    def make() -> OperatorHarness:
        return OperatorHarness.for_function(Sides(), key_selector=lambda v: v)

    check_variants(make, NUMBERS, [], sides={"side": list(range(6))})
    with pytest.raises(AssertionError, match="side output 'side'"):
        check_variants(make, NUMBERS, [], sides={"side": []})


def test_a_script_run_once() -> None:
    script: list[Step] = [
        Element(1), SliceEnd(), ProcessingTime(5), StatusStep(Status.IDLE), EpochEnd(), StatusStep(Status.ACTIVE),
        EndInput(),
    ]  # fmt: skip
    outcome = run_script(same, script)
    assert outcome.items == [Record(1), Status.IDLE, Status.ACTIVE, Watermark(2**63 - 1), Status.FINISHED]
    assert outcome.values == [1]


def test_a_script_with_the_ends_of_slices() -> None:
    script = [Element("a"), SliceEnd(), Element("b"), Element("c"), EpochEnd(), Element("d")]
    outcome = run_script(lambda: OperatorHarness(lambda: Told(as_map(str))), script)
    assert outcome.values == ["slice of 1", "slice of 2", "epoch", "slice of 1", "epoch"]


class Told(FirstSlice):
    """Tells what ends."""

    def end_slice(self) -> None:
        self.emit([f"slice of {len(self.held)}"], None)
        self.held.clear()

    def end_epoch(self) -> None:
        self.emit(["epoch"], None)


def test_steps() -> None:
    assert steps([("a", 5), ("b", 7)]) == [Element("a", 5), Element("b", 7), EndInput()]
    assert steps([("a", 5)], watermark_lag=2) == [Element("a", 5), WatermarkStep(3), EndInput()]
