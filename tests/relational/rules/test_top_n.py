"""Filters over ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.relational import nodes as n
from millrace.relational.functions.registry import call
from millrace.relational.rex import AggCall, Frame, Literal, Ref, Rex, SortKey
from millrace.relational.rules.window_rules import row_key, top_n
from millrace.relational.types import BigIntType, IntType, TimestampType

INT, BIGINT, TIME = IntType(), BigIntType(False), TimestampType(3)
SCAN = n.Scan(("c", "d", "t"), (n.Field("k", INT), n.Field("v", INT), n.Field("ts", TIME, n.ROWTIME)))
RANK = Ref(BIGINT, 3)
FRAME = Frame(True, None, 0)


def _over(function: str = "ROW_NUMBER", column: int = 1, descending: bool = True) -> n.Over:
    key = SortKey(Ref(SCAN.schema[column].type, column), descending, not descending)
    return n.Over(SCAN, (0,), (key,), ((AggCall(function, (), BIGINT), FRAME),), (n.Field("r", BIGINT),))


def _number(value: int) -> Rex:
    return Literal(BIGINT, value)


BOUNDS = [
    (call("<=", [RANK, _number(3)]), (1, 3)),
    (call("<", [RANK, _number(3)]), (1, 2)),
    (call("=", [RANK, _number(2)]), (2, 2)),
    (call(">=", [_number(3), RANK]), (1, 3)),
    (call("AND", [call(">", [RANK, _number(1)]), call("<=", [RANK, _number(4)])]), (2, 4)),
    (call("AND", [call("<=", [RANK, _number(9)]), call("<=", [RANK, _number(4)])]), (1, 4)),
]


@pytest.mark.parametrize(("condition", "ranks"), BOUNDS)
@pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
def test_bounds_of_ranks(condition: Rex, ranks: tuple[int, int], function: str) -> None:
    found = top_n(n.Filter(_over(function), condition))
    assert isinstance(found, n.Rank)
    assert (found.function, found.first, found.last, found.partition) == (function, *ranks, (0,))
    assert found.schema == _over(function).schema


@pytest.mark.parametrize(
    "condition",
    [call(">=", [RANK, _number(2)]), call("<>", [RANK, _number(1)]), call("<=", [RANK, Ref(BIGINT, 0)])],
    ids=["no upper bound", "not equal", "not a constant"],
)
def test_other_filters_stay(condition: Rex) -> None:
    plan = n.Filter(_over(), condition)
    assert top_n(plan) is plan


def test_the_rest_of_the_condition_stays_above() -> None:
    rest = call(">", [Ref(INT, 1), Literal(INT, 5)])
    found = top_n(n.Filter(_over(), call("AND", [call("<=", [RANK, _number(3)]), rest])))
    assert isinstance(found, n.Filter)
    assert found.condition == rest
    assert isinstance(found.input, n.Rank)


def test_projections_in_between() -> None:
    fields = (n.Field("n", BIGINT), n.Field("k", INT))
    project = n.Project(_over(), (RANK, Ref(INT, 0)), fields)
    found = top_n(n.Filter(project, call("<=", [Ref(BIGINT, 0), _number(3)])))
    assert isinstance(found, n.Project)
    assert found.schema == fields
    assert isinstance(found.input, n.Rank)


@pytest.mark.parametrize("descending", [True, False])
def test_top_one_by_time_is_a_deduplication(descending: bool) -> None:
    over = _over(column=2, descending=descending)
    found = top_n(n.Filter(over, call("=", [RANK, _number(1)])))
    assert found == n.Deduplicate(SCAN, (0,), 2, descending, None, n.Field("r", BIGINT))
    assert row_key(found) == (0,)


def test_top_one_by_a_value_is_none() -> None:
    found = top_n(n.Filter(_over(), call("=", [RANK, _number(1)])))
    assert isinstance(found, n.Rank)
    assert row_key(found) == (0,)


def test_top_one_by_time_and_more_is_none() -> None:
    over = _over(column=2)
    over = replace(over, order=(*over.order, SortKey(Ref(INT, 1))))
    assert isinstance(top_n(n.Filter(over, call("=", [RANK, _number(1)]))), n.Rank)


def test_several_calls_are_no_top_n() -> None:
    over = _over()
    over = replace(over, calls=over.calls * 2, produced=(*over.produced, n.Field("s", BIGINT)))
    plan = n.Filter(over, call("=", [RANK, _number(1)]))
    assert top_n(plan) is plan


def test_keys_of_groups_go_through_projections() -> None:
    count = AggCall("COUNT", (), BIGINT)
    grouped = n.Aggregate(SCAN, (0, 1), (count,), (n.Field("k", INT), n.Field("v", INT), n.Field("n", BIGINT)))
    moved = n.Project(grouped, (RANK, Ref(INT, 1), Ref(INT, 0)), (n.Field("n", BIGINT), *grouped.schema[:2]))
    assert row_key(moved) == (2, 1)
    assert row_key(n.Project(grouped, (Ref(INT, 1),), (n.Field("v", INT),))) == ()
