"""Windows as values."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.datastream.window import CountWindow, GlobalWindow, TimeWindow

LONG_MAX = 2**63 - 1

windows = st.builds(lambda start, size: TimeWindow(start, start + size), st.integers(-50, 50), st.integers(1, 10))


class Merges:
    def __init__(self) -> None:
        self.calls: list[tuple[set[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.calls.append((set(to_be_merged), merge_result))


def test_time_windows_are_values() -> None:
    window = TimeWindow(10, 20)
    assert window.max_timestamp() == 19
    copy = pickle.loads(pickle.dumps(window))
    assert copy == window and type(copy) is TimeWindow
    assert len({window, TimeWindow(10, 20), TimeWindow(10, 21)}) == 2
    assert repr(window) == "TimeWindow(start=10, end=20)"
    assert window == (10, 20)  # the price of a fast hash
    assert window != CountWindow(10)


def test_time_windows_are_ordered_by_start_then_end() -> None:
    ordered = [TimeWindow(0, 5), TimeWindow(0, 6), TimeWindow(1, 2)]
    assert sorted([ordered[2], ordered[0], ordered[1]]) == ordered
    assert TimeWindow(0, 5) <= TimeWindow(0, 5)
    assert TimeWindow(1, 2) > TimeWindow(0, 6)
    with pytest.raises(TypeError):
        TimeWindow(0, 1) < CountWindow(1)  # type: ignore[operator] # noqa: B015


def test_windows_that_touch_intersect() -> None:
    assert TimeWindow(0, 5).intersects(TimeWindow(5, 6))
    assert not TimeWindow(0, 5).intersects(TimeWindow(6, 7))
    assert TimeWindow(0, 5).cover(TimeWindow(3, 9)) == TimeWindow(0, 9)


@given(st.integers(-(10**6), 10**6), st.integers(-1000, 1000), st.integers(1, 1000))
def test_window_start(timestamp: int, offset: int, size: int) -> None:
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_merging() -> None:
    merges = Merges()
    TimeWindow.merge_windows([TimeWindow(8, 10), TimeWindow(0, 3), TimeWindow(20, 30), TimeWindow(2, 8)], merges)
    assert merges.calls == [({TimeWindow(0, 3), TimeWindow(2, 8), TimeWindow(8, 10)}, TimeWindow(0, 10))]


@given(st.lists(windows, unique=True))
def test_merging_covers_every_window_once(given_windows: list[TimeWindow]) -> None:
    merges = Merges()
    TimeWindow.merge_windows(given_windows, merges)
    merged = [window for group, _ in merges.calls for window in group]
    assert len(merged) == len(set(merged))
    assert all(len(group) > 1 for group, _ in merges.calls)
    for group, result in merges.calls:
        assert result == TimeWindow(min(w.start for w in group), max(w.end for w in group))
    remaining = [w for w in given_windows if w not in set(merged)] + [result for _, result in merges.calls]
    assert not any(a.intersects(b) for a in remaining for b in remaining if a != b)


def test_windows_without_an_end_in_time() -> None:
    assert CountWindow(3).max_timestamp() == GlobalWindow().max_timestamp() == LONG_MAX
    assert pickle.loads(pickle.dumps(CountWindow(3))) == CountWindow(3) != CountWindow(4)
    assert GlobalWindow.get() is pickle.loads(pickle.dumps(GlobalWindow()))
    assert {GlobalWindow(), GlobalWindow.get()} == {GlobalWindow()}
    assert len({CountWindow(3), CountWindow(3), CountWindow(4)}) == 2
    assert CountWindow(0) != GlobalWindow()
    assert (repr(CountWindow(3)), repr(GlobalWindow())) == ("CountWindow(id=3)", "GlobalWindow")
