"""Aggregates grouped by the bounds of windows."""

from __future__ import annotations

import pytest

from millrace.relational import nodes as n
from millrace.relational.functions.registry import call
from millrace.relational.rex import AggCall, Literal, Ref
from millrace.relational.rules.window_rules import window_aggregate, window_columns
from millrace.relational.types import BigIntType, IntType, TimestampType

INT, BIGINT, TIME = IntType(), BigIntType(False), TimestampType(3, False)
SCAN = n.Scan(("c", "d", "t"), (n.Field("k", INT), n.Field("ts", TIME, n.ROWTIME)))
BOUNDS = (n.Field("window_start", TIME), n.Field("window_end", TIME), n.Field("window_time", TIME, n.ROWTIME))
SPEC = n.WindowSpec("TUMBLE", 1000)
WINDOWED = n.WindowTable(SCAN, SPEC, 1, (), (*SCAN.schema, *BOUNDS))
K, START, END, ROW_TIME = 0, 2, 3, 4
COUNT = AggCall("COUNT", (), BIGINT)


def _aggregate(source: n.Rel, *keys: int, sets: tuple[tuple[int, ...], ...] | None = None) -> n.Aggregate:
    columns = tuple(n.Field(source.schema[key].name, source.schema[key].type) for key in keys)
    return n.Aggregate(source, keys, (COUNT,), (*columns, n.Field("n", BIGINT)), sets)


def test_keys_aggregates_and_bounds_go_back_to_their_places() -> None:
    found = window_aggregate(_aggregate(WINDOWED, START, K, END))
    assert isinstance(found, n.Project)
    assert found.names == ["window_start", "k", "window_end", "n"]
    node = found.input
    assert isinstance(node, n.WindowAggregate)
    assert (node.keys, node.attached, node.time, node.properties) == ((K,), (START, END), END, ("START", "END"))
    assert node.names == ["k", "n", "window_start", "window_end"]


def test_window_time_stays_a_time_attribute() -> None:
    found = window_aggregate(_aggregate(WINDOWED, START, END, ROW_TIME))
    assert [column.time for column in found.schema] == [None, None, "ROWTIME", None]


@pytest.mark.parametrize("keys", [(K,), (START,), (END, K), ()])
def test_without_both_bounds_it_is_a_regular_aggregate(keys: tuple[int, ...]) -> None:
    plan = _aggregate(WINDOWED, *keys)
    assert window_aggregate(plan) is plan


def test_sets_must_have_both_bounds() -> None:
    found = window_aggregate(_aggregate(WINDOWED, START, END, K, sets=((0, 1, 2), (0, 1))))
    assert [node.sets for node in n.find(found, n.WindowAggregate)] == [((0,), ())]
    plan = _aggregate(WINDOWED, START, END, K, sets=((0, 1, 2), (0, 2)))
    assert window_aggregate(plan) is plan


def test_bounds_go_through_filters_projections_and_aggregates() -> None:
    kept = n.Filter(WINDOWED, call("=", [Ref(INT, K), Literal(INT, 1)]))
    moved = n.Project(kept, (Ref(TIME, END), Ref(TIME, START)), (n.Field("e", TIME), n.Field("s", TIME)))
    assert window_columns(moved) == (1, 0)
    again = window_aggregate(_aggregate(moved, 0, 1))
    assert window_columns(again) == (1, 0)
    assert isinstance(window_aggregate(_aggregate(again, 0, 1)).inputs[0], n.WindowAggregate)


def test_bounds_end_where_they_are_gone_or_computed() -> None:
    gone = n.Project(WINDOWED, (Ref(TIME, START),), (n.Field("s", TIME),))
    assert window_columns(gone) is None
    assert window_columns(n.Join(WINDOWED, WINDOWED, "INNER", call("=", [Ref(INT, 0), Ref(INT, 5)]))) is None
    assert window_columns(SCAN) is None
