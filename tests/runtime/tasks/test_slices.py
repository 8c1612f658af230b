"""When slices end."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.tasks.flow_lanes import SliceClock

MS = 1_000_000
LONGEST = 5 * MS
TIMES = st.integers(0, 300 * MS)


def begun(now: int, longest: int | None = LONGEST, least: int = 0) -> SliceClock:
    beat = SliceClock(longest, least)
    beat.begin(now)
    return beat


def test_without_anything_gathered_no_slice_ends() -> None:
    beat = SliceClock(LONGEST)
    assert not beat.is_open
    assert beat.end_at(True) is None
    assert not beat.due(10**12, True)
    beat.begin(7)
    assert beat.is_open
    beat.ended(8, 0)
    assert not beat.is_open
    assert not beat.due(10**12, True)


def test_at_rest_it_ends_at_once() -> None:
    beat = begun(7)
    assert beat.due(7, at_rest=True)
    assert not beat.due(7, at_rest=False)


def test_a_task_that_is_never_at_rest_ends_it_after_some_time() -> None:
    beat = begun(7)
    assert not beat.due(7 + LONGEST - 1, at_rest=False)
    assert beat.due(7 + LONGEST, at_rest=False)


def test_it_begins_with_the_first_thing_that_is_gathered() -> None:
    beat = begun(7)
    beat.begin(7 + 4 * MS)
    assert beat.end_at(False) == 7 + LONGEST
    beat.ended(7 + LONGEST, 0)
    beat.begin(20 * MS)
    assert beat.end_at(False) == 20 * MS + LONGEST


def test_ends_cost_a_twentieth_of_the_time() -> None:
    beat = begun(0)
    beat.ended(10 * MS, cost=2 * MS)
    beat.begin(10 * MS)
    assert beat.end_at(at_rest=True) == beat.end_at(at_rest=False) == 50 * MS
    assert not beat.due(50 * MS - 1, at_rest=True)
    assert beat.due(50 * MS, at_rest=True)


def test_however_long_ends_take_they_are_not_further_apart_than_100_ms() -> None:
    beat = begun(0)
    beat.ended(10 * MS, cost=10_000 * MS)
    beat.begin(10 * MS)
    assert beat.end_at(at_rest=True) == 110 * MS


def test_the_cost_is_that_of_the_last_end() -> None:
    beat = begun(0)
    beat.ended(0, cost=4 * MS)
    beat.begin(0)
    beat.ended(80 * MS, cost=0)
    beat.begin(80 * MS)
    assert beat.due(80 * MS, at_rest=True)


@pytest.mark.parametrize("at_rest", [True, False])
def test_with_0_it_ends_after_each_piece(at_rest: bool) -> None:
    beat = begun(3, longest=0, least=50 * MS)
    assert beat.due(3, at_rest)
    beat.ended(3, cost=100 * MS)
    beat.begin(4)
    assert beat.due(4, at_rest), "whatever it costs"


@pytest.mark.parametrize("at_rest", [True, False])
def test_with_none_only_the_epoch_ends_it(at_rest: bool) -> None:
    beat = begun(3, longest=None)
    assert beat.is_open
    assert beat.end_at(at_rest) is None
    assert not beat.due(10**15, at_rest)


def test_it_takes_a_least_time_if_there_is_one() -> None:
    beat = begun(7, least=3 * MS)
    assert beat.end_at(at_rest=True) == 7 + 3 * MS
    assert beat.end_at(at_rest=False) == 7 + LONGEST
    longer = begun(7, least=30 * MS)
    assert longer.end_at(at_rest=True) == longer.end_at(at_rest=False) == 7 + 30 * MS


class Piece(NamedTuple):
    after: int
    """since the last one, or the last end (ns)"""
    at_rest: bool
    cost: int
    """of ending the slice, if it ends (ns)"""


PIECES = st.lists(st.builds(Piece, TIMES, st.booleans(), TIMES), max_size=30)


@given(PIECES, st.sampled_from([1, MS, LONGEST, 200 * MS]), st.sampled_from([0, MS, 40 * MS]))
def test_any_pieces(pieces: list[Piece], longest: int, least: int) -> None:
    """Whoever asks when it ends, and then, gets a true answer; ends are where all that is said of them allows it."""
    beat, now = SliceClock(longest, least), 0
    began: int | None = None
    ended, cost = 0, 0
    for piece in pieces:
        now += piece.after
        began = now if began is None else began
        beat.begin(now)
        pause = min(20 * cost, 100 * MS)
        due = now >= began + least and now >= ended + pause and (piece.at_rest or now >= began + longest)
        assert beat.due(now, piece.at_rest) == due
        end = beat.end_at(piece.at_rest)
        assert end is not None
        assert beat.due(end, piece.at_rest)
        assert not beat.due(end - 1, piece.at_rest)
        assert end <= max(began + max(longest, least), ended + 100 * MS)
        if due:
            ended, cost, began = now, piece.cost, None
            beat.ended(now, cost)
            assert not beat.is_open
