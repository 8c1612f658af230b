"""``FlatMapOperator`` and rich flat_map functions on keyed streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.functions.callables import as_flat_map
from millrace.common.typeinfo import Types
from millrace.datastream.functions import FlatMapFunction, RuntimeContext
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, OperatorHarness, Record, check_variants


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 100)), max_size=8))
def test_any_number_out_with_the_timestamp(elements: list[tuple[int, int | None]]) -> None:
    script = [Element(value, timestamp) for value, timestamp in elements]
    expected = [Record(part, timestamp) for value, timestamp in elements for part in range(value)]
    check_variants(lambda: OperatorHarness.for_function(as_flat_map(range)), script, expected)


def test_none_is_nothing() -> None:
    split = as_flat_map(lambda line: line.split() if line else None)
    script = [Element("a b"), Element(""), Element("c")]
    check_variants(lambda: OperatorHarness.for_function(split), script, ["a", "b", "c"])


@pytest.mark.parametrize("timestamp", [None, 5])
def test_a_failure_in_a_generator_names_the_element(timestamp: int | None) -> None:
    def halves(value: int) -> Iterator[int]:
        yield value
        yield 10 // value

    with OperatorHarness.for_function(as_flat_map(halves)) as harness, pytest.raises(OperatorError) as caught:
        harness.process_elements([(2, timestamp), (0, timestamp), (3, timestamp)])
    assert caught.value.failure.element == "0"


class Pairs(FlatMapFunction):
    """Emits the elements of a key in pairs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.INT()))

    def flat_map(self, value: int) -> Iterator[tuple[int, int]]:
        waiting = list(self.waiting.get())
        if waiting:
            self.waiting.clear()
            yield (waiting[0], value)
        else:
            self.waiting.add(value)


def test_a_rich_flat_map_uses_keyed_state() -> None:
    check_variants(
        lambda: OperatorHarness.for_function(Pairs(), key_selector=lambda value: value % 2),
        [Element(value) for value in (1, 2, 4, 3, 5, 6, 8)],
        [(2, 4), (1, 3), (6, 8)],
    )
