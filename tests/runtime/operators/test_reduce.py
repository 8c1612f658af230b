"""``ReduceOperator`` and its batch form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.functions import ReduceFunction, RuntimeContext
from millrace.common.functions.callables import as_reduce
from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, OperatorHarness, Record, check_variants, steps


def summing(batch: bool = False) -> OperatorHarness:
    function = as_reduce(lambda a, b: (a[0], a[1] + b[1]))
    return OperatorHarness.for_function(function, key_selector=lambda value: value[0], batch=batch)


def running_sums(values: list[tuple[str, int]]) -> list[tuple[str, int]]:
    sums: dict[str, int] = {}
    result = []
    for key, value in values:
        sums[key] = sums.get(key, 0) + value
        result.append((key, sums[key]))
    return result


VALUES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9)), max_size=10)


@given(VALUES)
def test_emits_the_running_result(values: list[tuple[str, int]]) -> None:
    script = [Element(value, position) for position, value in enumerate(values)]
    expected = [Record(value, position) for position, value in enumerate(running_sums(values))]
    check_variants(summing, script, expected)


@given(VALUES)
def test_batch_emits_one_result_per_key_at_the_end(values: list[tuple[str, int]]) -> None:
    # The order of the keys is that of a table: it follows no rule.
    expected = list(dict(running_sums(values)).items())
    outcome = check_variants(lambda: summing(batch=True), steps([(v, 1) for v in values]), expected, ordered=False)
    assert outcome.records == outcome.items[: len(expected)], "all results come before MAX_WATERMARK"


class Numbered(ReduceFunction):
    """Sums, and counts its own calls for each key in state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.LONG()))

    def reduce(self, value1: Any, value2: Any) -> Any:
        calls = (self.calls.value() or 0) + 1
        self.calls.update(calls)
        return value1[0], value1[1] + value2[1], calls


@given(VALUES)
def test_state_of_the_function_belongs_to_the_key(values: list[tuple[str, int]]) -> None:
    def numbered() -> OperatorHarness:
        return OperatorHarness.for_function(Numbered(), key_selector=lambda value: value[0])

    seen: dict[str, int] = {}
    expected = []
    for position, (key, total) in enumerate(running_sums(values)):
        calls = seen[key] = seen.get(key, -1) + 1
        expected.append(Record((key, total, calls) if calls else (key, total), position))
    check_variants(numbered, [Element(value, at) for at, value in enumerate(values)], expected)


def test_none_counts_as_a_value() -> None:
    def keep_first(first: Any, second: Any) -> Any:
        return first

    check_variants(
        lambda: OperatorHarness.for_function(as_reduce(keep_first), key_selector=lambda value: 0),
        [Element(None), Element(1), EndInput()],
        [None, None],
    )


def test_a_failure_names_the_element() -> None:
    with summing() as harness, pytest.raises(OperatorError) as caught:
        harness.process_elements([(("a", 1), None), (("a", "x"), None)])
    assert caught.value.failure.element == "('a', 'x')"


def test_a_failing_key_selector_names_the_element() -> None:
    with summing() as harness, pytest.raises(OperatorError, match="key selector") as caught:
        harness.process_elements([(("a", 1), None), (5, None)])
    assert caught.value.failure.element == "5"
