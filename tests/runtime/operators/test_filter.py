"""``FilterOperator`` and rich filter functions on keyed streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.functions.callables import as_filter
from millrace.common.typeinfo import Types
from millrace.datastream.functions import FilterFunction, RuntimeContext
from millrace.datastream.state import MapStateDescriptor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, OperatorHarness, Record, check_variants


@given(st.lists(st.tuples(st.integers(-5, 5), st.none() | st.integers(0, 100)), max_size=8))
def test_keeps_what_is_accepted(elements: list[tuple[int, int | None]]) -> None:
    script = [Element(value, timestamp) for value, timestamp in elements]
    expected = [Record(value, timestamp) for value, timestamp in elements if value > 0]
    check_variants(lambda: OperatorHarness.for_function(as_filter(lambda x: x > 0)), script, expected)


def test_any_truth_value_will_do() -> None:
    script = [Element(""), Element("a"), Element([]), Element([0])]
    check_variants(lambda: OperatorHarness.for_function(as_filter(lambda x: x)), script, ["a", [0]])


def test_a_failure_names_the_element() -> None:
    harness = OperatorHarness.for_function(as_filter(lambda x: 1 / x > 0)).open()
    with pytest.raises(OperatorError) as caught:
        harness.process_elements([(2, None), (0, None), (1, None)])
    assert caught.value.failure.element == "0"


def test_stop_iteration_does_not_swallow_elements() -> None:
    harness = OperatorHarness.for_function(as_filter(lambda x: x < 2 or next(iter(())))).open()
    with pytest.raises(OperatorError) as caught:
        harness.process_elements([(1, None), (2, None), (1, None)])
    assert caught.value.failure.element == "2"


class Distinct(FilterFunction):
    """Accepts each value of a key once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN()))

    def filter(self, value: tuple[str, int]) -> bool:
        if self.seen.contains(value[1]):
            return False
        self.seen.put(value[1], True)
        return True


def test_a_rich_filter_uses_keyed_state() -> None:
    check_variants(
        lambda: OperatorHarness.for_function(Distinct(), key_selector=lambda value: value[0]),
        [Element(value) for value in (("a", 1), ("b", 1), ("a", 1), ("a", 2), ("b", 1))],
        [("a", 1), ("b", 1), ("a", 2)],
    )
