"""``MergingWindows``: what merges, where contents stay, who is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.state import MapStateDescriptor
from millrace.datastream.window import EventTimeSessionWindows, TimeWindow
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.windows.window_operator import MergingWindows

ANYTHING = Types.PICKLED_BYTE_ARRAY()
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(5))


class Merge(NamedTuple):
    merged: Any
    gone: list[Any]
    stays: Any
    folded: list[Any]


class Windows:
    """The windows of one key, and the calls of ``on_merge``."""

    def __init__(self, assigner: Any = SESSIONS) -> None:
        backend = KeyedStateBackend()
        backend.at = "key"
        self.mapping = backend.get_map_state(MapStateDescriptor("set", ANYTHING, ANYTHING))
        self.windows = MergingWindows(assigner, self.mapping)
        self.merges: list[Merge] = []

    def add(self, start: int, end: int) -> Any:
        return self.windows.add(TimeWindow(start, end), lambda *merge: self.merges.append(Merge(*merge)))

    def state(self) -> dict[Any, Any]:
        return dict(self.mapping.items())


def test_windows_apart_have_state_of_their_own() -> None:
    known = Windows()
    assert [known.add(0, 5), known.add(10, 15), known.add(0, 5)] == [(0, 5), (10, 15), (0, 5)]
    assert known.state() == {(0, 5): (0, 5), (10, 15): (10, 15)}
    assert known.merges == []


def test_a_window_that_grows_keeps_its_state_window() -> None:
    known = Windows()
    known.add(0, 5)
    assert known.add(3, 8) == (0, 8)
    assert known.add(8, 13) == (0, 13), "windows that touch merge, too"
    assert known.state() == {(0, 13): (0, 5)}
    assert known.merges == [Merge((0, 8), [(0, 5)], (0, 5), []), Merge((0, 13), [(0, 8)], (0, 5), [])]
    assert known.windows.state_window((0, 13)) == (0, 5)
    assert known.windows.state_window((0, 8)) is None


def test_a_window_inside_another_changes_nothing() -> None:
    known = Windows()
    known.add(0, 20)
    assert known.add(3, 8) == (0, 20)
    assert (known.state(), known.merges) == ({(0, 20): (0, 20)}, [])


def test_a_bridge_folds_the_later_windows_into_the_first() -> None:
    known = Windows()
    for start in (20, 0, 10):
        known.add(start, start + 5)
    assert known.add(4, 21) == (0, 25)
    assert known.merges == [Merge((0, 25), [(0, 5), (10, 15), (20, 25)], (0, 5), [(10, 15), (20, 25)])]
    assert known.state() == {(0, 25): (0, 5)}


def test_a_retired_window_merges_no_more() -> None:
    known = Windows()
    known.windows.retire(known.add(0, 5))
    assert known.add(3, 8) == (3, 8)
    assert known.merges == []


class Hundred(EventTimeSessionWindows[Any]):
    """Merges what begins in one stretch of 100 ms: the result may be a window that is there."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        groups: dict[int, list[TimeWindow]] = {}
        for window in windows:
            groups.setdefault(window.start // 100, []).append(window)
        for number, group in groups.items():
            if len(group) > 1:
                callback.merge(group, TimeWindow(number * 100, max(window.end for window in group)))


def test_the_result_may_be_a_window_that_is_there() -> None:
    known = Windows(Hundred(1))
    assert known.add(0, 90) == (0, 90)
    assert known.add(10, 50) == (0, 90)
    assert known.merges == []
    known.mapping.put(TimeWindow(20, 30), TimeWindow(20, 30))
    assert known.add(40, 60) == (0, 90)
    assert known.merges == [Merge((0, 90), [(20, 30)], (0, 90), [(20, 30)])]
    assert known.state() == {(0, 90): (0, 90)}


def test_others_may_merge_when_a_window_comes() -> None:
    known = Windows(Hundred(1))
    for start in (200, 210):
        known.mapping.put(TimeWindow(start, start + 5), TimeWindow(start, start + 5))
    assert known.add(0, 5) == (0, 5)
    assert known.state() == {(200, 215): (200, 205), (0, 5): (0, 5)}
    assert known.merges == [Merge((200, 215), [(200, 205), (210, 215)], (200, 205), [(210, 215)])]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 8)), max_size=20))
def test_contents_end_up_together(elements: list[tuple[int, int]]) -> None:
    """The contents follow the calls; what they should be is found in the elements alone."""
    known = Windows()
    stored: dict[Any, list[int]] = {}
    for number, (start, length) in enumerate(elements):
        before = len(known.merges)
        actual = known.add(start, start + length)
        for merge in known.merges[before:]:
            for window in merge.folded:
                stored[merge.stays] += stored.pop(window)
        stored.setdefault(known.windows.state_window(actual), []).append(number)

    expected: dict[tuple[int, int], list[int]] = {}
    for number, (start, length) in enumerate(elements):
        first, last = start, start + length
        while _joined(elements, first - 1):
            first -= 1
        while _joined(elements, last):
            last += 1
        expected.setdefault((first, last), []).append(number)
    assert {window: sorted(stored[at]) for window, at in known.state().items()} == expected
    assert sorted(stored) == sorted(known.state().values()), "nothing is left behind"


def _joined(elements: list[tuple[int, int]], moment: int) -> bool:
    """Whether an element reaches from ``moment`` to the next one."""
    return any(start <= moment < start + length for start, length in elements)
