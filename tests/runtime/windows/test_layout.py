"""The two layouts hold the same windows, whatever comes in whatever order; slices are never changed by merging."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Time
from millrace.datastream.window import CumulativeEventTimeWindows, SlidingEventTimeWindows
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.windows.slicing import Slicing, slicing_of
from millrace.runtime.windows.window_contents import Fold, Layout, SliceLayout, WindowLayout

ms = Time.milliseconds
ASSIGNERS = [
    SlidingEventTimeWindows.of(ms(10), ms(5)),
    SlidingEventTimeWindows.of(ms(10), ms(4), ms(-3)),
    SlidingEventTimeWindows.of(ms(3), ms(5)),
    CumulativeEventTimeWindows.of(ms(12), ms(4), ms(1)),
]


def _add(value: int, accumulator: list[int]) -> list[int]:
    accumulator.append(value)
    accumulator.sort()
    return accumulator


def _merge(left: list[int], right: list[int]) -> list[int]:
    """In place, and it spoils what it takes over."""
    left += right
    left.sort()
    right[:] = ["spoilt"]  # type: ignore[list-item]
    return left


SORTED = Fold(lambda value: [value], _add, _merge, lambda accumulator: (accumulator,))


def slices(slicing: Slicing) -> tuple[WindowLayout, SliceLayout]:
    """Shared slices, and where windows are that do not take part."""
    own = WindowLayout(slicing, WindowTable())
    return own, SliceLayout(slicing, WindowTable(), SORTED, own)


def layouts(slicing: Slicing) -> list[Layout]:
    return [WindowLayout(slicing, WindowTable()), slices(slicing)[1]]


def put(layout: Layout, key: Any, value: int, time: int, over: int) -> None:
    """Add an element to its windows that end after ``over``."""
    slicing = layout.slicing
    start = time - (time - slicing.offset) % slicing.slice_size
    for row, touched in layout.targets(start, [end for end in slicing.window_ends(start) if end > over]):
        row[key] = _add(value, row[key]) if key in row else [value]
        if touched is not None:
            touched[key] = 0


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
@given(script=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.booleans()), max_size=25))
def test_windows_and_slices_hold_the_same(assigner: Any, script: list[tuple[int, int, bool]]) -> None:
    """Elements come out of order, windows go in the order of their ends. The windows are those of the assigner."""
    slicing = slicing_of(assigner)
    assert slicing is not None
    both, expected, over = layouts(slicing), dict[int, dict[Any, list[int]]](), -100
    for number, (key, time, drops) in enumerate(script):
        for window in assigner.windows_at(time):
            if window.end > over:
                _add(number, expected.setdefault(window.end, {}).setdefault(key, []))
        for layout in both:
            put(layout, key, number, time, over)
        if drops and expected:
            over = min(expected)
            for layout in both:
                layout.drop(over)
            del expected[over]
        for layout in both:
            assert set(expected) <= set(layout.ends())
            for end, contents in expected.items():
                assert layout.contents(end) == contents
                for one, accumulator in contents.items():
                    assert layout.contents_of(end, one) == accumulator
    own, shared = both
    assert set(own.ends()) == set(expected)
    for end in sorted(expected):
        for layout in both:
            layout.drop(end)
    assert not own.table.rows
    assert not shared.table.rows, "a slice goes with its last window"


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
@given(
    before=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20)), max_size=6),
    after=st.lists(st.tuples(st.integers(0, 2), st.integers(5, 30)), max_size=12),
)
def test_sharing_may_begin_at_any_time(assigner: Any, before: list[Any], after: list[Any]) -> None:
    """Windows that have something by then stay as they are."""
    slicing = slicing_of(assigner)
    assert slicing is not None
    own, shared = slices(slicing)
    expected: dict[int, dict[Any, list[int]]] = {}
    for number, (key, time) in enumerate([*before, *after]):
        put(own if number < len(before) else shared, key, number, time, -100)
        for window in assigner.windows_at(time):
            _add(number, expected.setdefault(window.end, {}).setdefault(key, []))
    assert set(expected) <= set(shared.ends())
    assert set(own.ends()) == {window.end for _, time in before for window in assigner.windows_at(time)}
    for end in sorted(expected):
        assert shared.contents(end) == expected[end]
        for key, accumulator in expected[end].items():
            assert shared.contents_of(end, key) == accumulator
        shared.drop(end)
    assert not own.table.rows
    assert not shared.table.rows


def test_ends_are_those_of_windows_with_elements() -> None:
    slicing = slicing_of(SlidingEventTimeWindows.of(ms(10), ms(5)))
    assert slicing is not None
    for layout in layouts(slicing):
        put(layout, "k", 1, 7, 0)
        put(layout, "k", 2, 21, 0)
        assert set(layout.ends()) == {10, 15, 25, 30}


@pytest.mark.parametrize("from_outside", [True, False])
def test_copies_follow_the_table(from_outside: bool) -> None:
    """This or another worker puts a list where only numbers were: they had not to be copied."""
    slicing = slicing_of(SlidingEventTimeWindows.of(ms(10), ms(5)))
    assert slicing is not None
    _, layout = slices(slicing)
    rows, _ = layout.table.begin(10)
    rows["number"] = 1
    assert layout.contents(10) == {"number": 1}
    if from_outside:
        layout.table.apply({10: (False, {"list": [1]}), 15: (True, {"list": [2]})})
        layout.forget()
    else:
        put(layout, "list", 1, 7, 0)
        put(layout, "list", 2, 12, 0)
    before = copy.deepcopy(layout.table.rows)
    assert layout.contents(15) == {"number": 1, "list": [1, 2]}
    assert layout.table.rows == before
