"""Joins of intervals and windows, and what WHERE says about joins."""

from __future__ import annotations

import datetime

import pytest

from millrace.relational import nodes as n
from millrace.relational.functions.registry import call
from millrace.relational.rex import TRUE, Literal, Ref, Rex, conjunction
from millrace.relational.rules.join_rules import interval_join, join_conditions
from millrace.relational.rules.window_rules import window_join
from millrace.relational.types import DayTimeIntervalType, IntType, TimestampType

TIME = TimestampType(3)
INT = IntType()
SECOND = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, nullable=False)


def _scan(name: str, time: str | None = n.ROWTIME) -> n.Scan:
    return n.Scan(("c", "d", name), (n.Field("k", INT), n.Field("ts", TIME, time)))


LEFT, RIGHT = _scan("l"), _scan("r")
KEYS = call("=", [Ref(INT, 0), Ref(INT, 2)])
L, R = Ref(TIME, 1), Ref(TIME, 3)


def _seconds(count: int) -> Literal:
    return Literal(SECOND, datetime.timedelta(seconds=count))


def _plus(moment: Rex, seconds: int) -> Rex:
    return call("+", [moment, _seconds(seconds)])


BOUNDS = {
    "both written from the right": ([call(">=", [R, L]), call("<=", [R, _plus(L, 5)])], (0, 5000)),
    "written from the left": ([call("<=", [L, R]), call(">=", [_plus(L, 5), R])], (0, 5000)),
    "with offsets on both sides": ([call("<", [_plus(L, 1), _plus(R, 3)]), call("<", [R, L])], (-1999, -1)),
    "subtracted": ([call(">", [R, call("-", [L, _seconds(2)])]), call("<=", [R, L])], (-1999, 0)),
    "equal": ([call("=", [L, R])], (0, 0)),
    "the narrower bound counts": (
        [call(">=", [R, L]), call(">=", [R, _plus(L, 1)]), call("<=", [R, _plus(L, 9)])],
        (1000, 9000),
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_bounds(name: str, kind: str) -> None:
    parts, expected = BOUNDS[name]
    join = n.Join(LEFT, RIGHT, kind, conjunction([KEYS, *parts]))
    found = interval_join(join)
    assert isinstance(found, n.IntervalJoin)
    assert (found.lower, found.upper) == expected
    assert (found.left_time, found.right_time, found.kind) == (1, 1, kind)
    assert found.condition == join.condition
    assert [column.time for column in found.schema] == [None, "ROWTIME", None, "ROWTIME"]


NOT_INTERVALS = {
    "one bound": (RIGHT, [call(">=", [R, L])]),
    "no time attribute": (_scan("r", None), [call(">=", [R, L]), call("<=", [R, _plus(L, 5)])]),
    "different kinds of time": (_scan("r", n.PROCTIME), [call(">=", [R, L]), call("<=", [R, _plus(L, 5)])]),
    "times of one side": (RIGHT, [call(">=", [L, L]), call("<=", [L, _plus(L, 5)])]),
    "under OR": (RIGHT, [call("OR", [call(">=", [R, L]), call("<=", [R, _plus(L, 5)])])]),
}


@pytest.mark.parametrize("name", NOT_INTERVALS)
def test_regular_joins_stay(name: str) -> None:
    right, parts = NOT_INTERVALS[name]
    join = n.Join(LEFT, right, "INNER", conjunction([KEYS, *parts]))
    assert interval_join(join) is join


def test_conditions_of_where_go_to_the_join_that_has_their_columns() -> None:
    third = _scan("x")
    plan = n.Join(n.Join(LEFT, RIGHT, "INNER", TRUE), third, "INNER", TRUE)
    single = call(">", [Ref(INT, 2), Literal(INT, 1)])
    with_third = call("=", [Ref(INT, 2), Ref(INT, 4)])
    found = join_conditions(n.Filter(plan, conjunction([KEYS, single, with_third])))
    assert isinstance(found, n.Filter)
    assert found.condition == single
    outer = found.input
    assert isinstance(outer, n.Join)
    assert outer.condition == with_third
    assert isinstance(outer.left, n.Join)
    assert outer.left.condition == KEYS


def test_outer_joins_keep_their_condition() -> None:
    plan = n.Filter(n.Join(LEFT, RIGHT, "LEFT", TRUE), KEYS)
    assert join_conditions(plan) == plan


def _windowed(size: int) -> n.WindowTable:
    bound = TimestampType(3, False)
    columns = (*LEFT.schema, n.Field("window_start", bound), n.Field("window_end", bound), n.Field("window_time", TIME))
    return n.WindowTable(LEFT, n.WindowSpec("TUMBLE", size), 1, (), columns)


def _equal_windows(starts: bool = True, ends: bool = True) -> Rex:
    bound = TimestampType(3, False)
    parts = [call("=", [Ref(bound, 2), Ref(bound, 7)])] if starts else []
    return conjunction([*parts, *([call("=", [Ref(bound, 8), Ref(bound, 3)])] if ends else [])])


def test_window_join() -> None:
    found = window_join(n.Join(_windowed(5), _windowed(5), "FULL", _equal_windows()))
    assert isinstance(found, n.WindowJoin)
    assert (found.left_window, found.right_window) == ((2, 3), (2, 3))


@pytest.mark.parametrize(
    ("size", "condition"),
    [(6, _equal_windows()), (5, _equal_windows(ends=False)), (5, _equal_windows(starts=False))],
    ids=["other windows", "starts only", "ends only"],
)
def test_other_joins_of_windowed_rows_are_regular(size: int, condition: Rex) -> None:
    join = n.Join(_windowed(5), _windowed(size), "INNER", condition)
    assert window_join(join) is join
