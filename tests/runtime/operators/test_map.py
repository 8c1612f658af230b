"""``MapOperator`` and rich map functions on keyed streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.functions.callables import as_map
from millrace.common.typeinfo import Types
from millrace.datastream.functions import MapFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, OperatorHarness, Record, Step, Watermark, WatermarkStep, check_variants

ELEMENTS = st.lists(st.tuples(st.integers(-5, 5), st.none() | st.integers(0, 100)), max_size=8)


@given(ELEMENTS)
def test_one_in_one_out_with_its_timestamp(elements: list[tuple[int, int | None]]) -> None:
    script = [Element(value, timestamp) for value, timestamp in elements]
    expected = [Record(value * 10, timestamp) for value, timestamp in elements]
    check_variants(lambda: OperatorHarness.for_function(as_map(lambda x: x * 10)), script, expected)


def test_watermarks_pass() -> None:
    script: list[Step] = [Element(1, 5), WatermarkStep(4), Element(2, 9), WatermarkStep(8), WatermarkStep(8)]
    expected = [Record(1, 5), Watermark(4), Record(2, 9), Watermark(8)]
    check_variants(lambda: OperatorHarness.for_function(as_map(lambda x: x)), script, expected)


def test_none_is_an_element() -> None:
    check_variants(lambda: OperatorHarness.for_function(as_map(lambda x: None)), [Element(1), Element(2)], [None, None])


def test_the_declared_type_converts_and_checks() -> None:
    with OperatorHarness.for_function(as_map(lambda x: x), output_type=Types.INT()) as harness:
        harness.process_element(3)
        with pytest.raises(OperatorError, match="declared type"):
            harness.process_elements([(4, None), ("five", None)])
    assert harness.values == [3]


def test_a_failure_names_the_element() -> None:
    with OperatorHarness.for_function(as_map(lambda x: 10 // x)) as harness, pytest.raises(OperatorError) as caught:
        harness.process_elements([(2, None), (0, None), (1, None)])
    assert caught.value.failure.element == "0"
    assert "ZeroDivisionError" in caught.value.failure.cause
    assert "test_map.py" in (caught.value.failure.location or "")


def test_stop_iteration_does_not_swallow_elements() -> None:
    def first_of_nothing(value: int) -> int:
        return value if value != 2 else next(iter(()))

    with OperatorHarness.for_function(as_map(first_of_nothing)) as harness, pytest.raises(OperatorError) as caught:
        harness.process_elements([(1, None), (2, None), (3, None)])
    assert caught.value.failure.element == "2"
    assert "StopIteration" in caught.value.failure.cause


class Numbered(MapFunction):
    """Counts the elements of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: str) -> tuple[str, int]:
        number = (self.count.value() or 0) + 1
        self.count.update(number)
        return (value, number)


def test_a_rich_map_uses_keyed_state() -> None:
    words = ["a", "b", "a", "c", "b", "a"]
    expected = [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("b", 2), ("a", 3)]
    check_variants(
        lambda: OperatorHarness.for_function(Numbered(), key_selector=lambda word: word),
        [Element(word) for word in words],
        expected,
    )


def test_keyed_state_needs_a_key() -> None:
    with pytest.raises(OperatorError, match="keyed stream") as caught:
        OperatorHarness.for_function(Numbered()).open()
    assert caught.value.failure.during == " in open()"
