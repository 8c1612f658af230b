"""What is taken out of windows."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Time
from millrace.datastream.window import (
    CountEvictor,
    DeltaEvictor,
    DeltaFunction,
    Evictor,
    GlobalWindow,
    TimeEvictor,
    TimestampedValue,
)

elements = st.lists(st.builds(TimestampedValue, st.integers(-20, 20), st.integers(-50, 50)))


class Rise(DeltaFunction[int]):
    def get_delta(self, old_data_point: int, new_data_point: int) -> float:
        return new_data_point - old_data_point


def before(evictor: Evictor[Any, Any], given_elements: list[TimestampedValue[Any]]) -> list[TimestampedValue[Any]]:
    kept = list(given_elements)
    evictor.evict_before(kept, len(kept), GlobalWindow(), None)  # type: ignore[arg-type]
    return kept


def after(evictor: Evictor[Any, Any], given_elements: list[TimestampedValue[Any]]) -> list[TimestampedValue[Any]]:
    kept = list(given_elements)
    evictor.evict_after(kept, len(kept), GlobalWindow(), None)  # type: ignore[arg-type]
    return kept


@given(elements, st.integers(0, 10))
def test_the_last_ones(given_elements: list[TimestampedValue[int]], count: int) -> None:
    expected = [element for number, element in enumerate(given_elements) if len(given_elements) - number <= count]
    assert before(CountEvictor.of(count), given_elements) == expected
    assert after(CountEvictor.of(count, True), given_elements) == expected


@given(elements, st.integers(0, 60))
def test_the_latest_ones(given_elements: list[TimestampedValue[int]], size: int) -> None:
    expected = [
        element
        for element in given_elements
        if not any(later.get_timestamp() - element.get_timestamp() >= size for later in given_elements)
    ]
    assert before(TimeEvictor.of(Time.milliseconds(size)), given_elements) == expected
    assert after(TimeEvictor.of(Time.milliseconds(size), True), given_elements) == expected


@given(elements, st.integers(-5, 10))
def test_those_near_the_last_one(given_elements: list[TimestampedValue[int]], threshold: int) -> None:
    expected = [element for element in given_elements if given_elements[-1].value - element.value < threshold]
    for function in (Rise(), lambda old, new: new - old):
        assert before(DeltaEvictor.of(threshold, function), given_elements) == expected
        assert after(DeltaEvictor.of(threshold, function, True), given_elements) == expected


@pytest.mark.parametrize(
    "evictor", [CountEvictor.of, lambda _, late: TimeEvictor(0, late), lambda _, late: DeltaEvictor(0, Rise(), late)]
)
def test_either_before_or_after(evictor: Any) -> None:
    given_elements = [TimestampedValue(1, 1), TimestampedValue(1, 1)]
    assert before(evictor(1, True), given_elements) == after(evictor(1, False), given_elements) == given_elements
    assert len(before(evictor(1, False), given_elements)) < 2
    assert len(after(evictor(1, True), given_elements)) < 2


def test_elements_without_timestamps_are_kept() -> None:
    given_elements = [TimestampedValue("a"), TimestampedValue("b")]
    assert before(TimeEvictor.of(datetime.timedelta(seconds=1)), given_elements) == given_elements


def test_a_distance_that_is_no_number_evicts_nothing() -> None:
    given_elements = [TimestampedValue(1), TimestampedValue(2)]
    assert before(DeltaEvictor.of(0, lambda old, new: math.nan), given_elements) == given_elements


def test_an_element_and_its_time() -> None:
    timed, untimed = TimestampedValue("a", 5), TimestampedValue("a")
    assert (timed.get_value(), timed.has_timestamp(), timed.get_timestamp()) == ("a", True, 5)
    assert (untimed.has_timestamp(), untimed.timestamp) == (False, None)
    with pytest.raises(ValueError, match=r"^The element has no timestamp$"):
        untimed.get_timestamp()


def test_their_texts() -> None:
    assert [repr(evictor) for evictor in (CountEvictor(2), TimeEvictor(5), DeltaEvictor(1.5, Rise()))] == [
        *("CountEvictor(2)", "TimeEvictor(5)", "DeltaEvictor(1.5)"),
    ]


def test_an_evictor_that_a_user_writes() -> None:
    class Odd(Evictor[int, GlobalWindow]):
        def evict_before(
            self,
            elements: list[TimestampedValue[int]],
            size: int,
            window: GlobalWindow,
            evictor_context: Evictor.EvictorContext,
        ) -> None:
            elements[:] = [element for element in elements if element.value % 2]

        def evict_after(
            self,
            elements: list[TimestampedValue[int]],
            size: int,
            window: GlobalWindow,
            evictor_context: Evictor.EvictorContext,
        ) -> None:
            del elements[:size]

    numbers = [TimestampedValue(number) for number in range(5)]
    assert [element.value for element in before(Odd(), numbers)] == [1, 3]
    assert after(Odd(), numbers) == []
