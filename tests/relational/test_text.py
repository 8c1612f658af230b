"""Plans and expressions as text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import call
from millrace.relational.rex import (
    AggCall,
    FieldAccess,
    Frame,
    Literal,
    OuterRef,
    Ref,
    Rex,
    SortKey,
    Subquery,
    agg_text,
    keys_text,
    literal_text,
    rex_text,
)
from millrace.relational.rules.plan_text import node_text, plan_text

INT, TEXT = t.IntType(), t.string()
COLUMNS = (n.Field("a", INT), n.Field("b", INT), n.Field("a", INT), n.Field("s", TEXT))
SCAN = n.Scan(("c", "d", "t"), COLUMNS[1:])
A, B, S = Ref(INT, 0), Ref(INT, 1), Ref(TEXT, 3)


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, t.NullType(), "NULL"),
        (None, INT, "NULL:INT"),
        (True, t.BooleanType(), "TRUE"),
        ("it's", TEXT, "'it''s'"),
        (5, INT, "5"),
        (Decimal("1.50"), t.DecimalType(3, 2), "1.50:DECIMAL(3, 2)"),
        (datetime.date(2024, 5, 6), t.DateType(), "2024-05-06:DATE"),
    ],
)
def test_literals(value: Any, data_type: t.DataType, text: str) -> None:
    assert literal_text(Literal(data_type, value)) == text


ROW = Ref(t.RowType([t.RowField("x", INT)]), 0)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A, "a$0"),
        (Ref(INT, 9), "$9"),
        (call("+", [B, call("*", [B, B])]), "(b + (b * b))"),
        (call("AND", [call("=", [A, B]), call("IS NULL", [S])]), "((a$0 = b) AND IS NULL(s))"),
        (call("LIKE", [S, Literal(TEXT, "x!%"), Literal(TEXT, "!")]), "LIKE(s, 'x!%', '!')"),
        (call("EXTRACT", [Ref(t.DateType(), 1)], {"unit": "DAY"}), "EXTRACT(b, unit=DAY)"),
        (OuterRef(INT, 2, 1), "outer.$2"),
        (OuterRef(INT, 2, 2), "outer2.$2"),
        (FieldAccess(INT, ROW, "x"), "a$0.x"),
        (Subquery(t.BooleanType(), "IN", SCAN, (B,), True), "NOT IN(b)"),
    ],
)
def test_expressions(expression: Rex, text: str) -> None:
    assert rex_text(expression, COLUMNS) == text


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (SortKey(B), "b"),
        (SortKey(B, True, False), "b DESC"),
        (SortKey(B, False, False), "b NULLS LAST"),
        (SortKey(B, True, True), "b DESC NULLS FIRST"),
    ],
)
def test_keys(key: SortKey, text: str) -> None:
    assert keys_text([key], COLUMNS) == text


def test_aggregates() -> None:
    condition = call(">", [B, Literal(INT, 1)])
    whole = AggCall("LISTAGG", (S,), TEXT, True, condition, (SortKey(B),))
    assert agg_text(whole, COLUMNS) == "LISTAGG(DISTINCT s) WITHIN GROUP (b) FILTER ((b > 1))"
    assert agg_text(AggCall("COUNT", (), t.BigIntType()), COLUMNS) == "COUNT(*)"


def test_frames() -> None:
    count = AggCall("COUNT", (), t.BigIntType())
    frames = [Frame(True, 3, 0), Frame(False, None, None), Frame(False, 1000, 0)]
    fields = tuple(n.Field(f"w{at}", count.type) for at in range(3))
    node = n.Over(SCAN, (0,), (SortKey(Ref(INT, 1)),), tuple((count, frame) for frame in frames), fields)
    assert node_text(node) == (
        "Over(partition=[b], order=[a], COUNT(*) ROWS BETWEEN 3 PRECEDING AND CURRENT ROW AS w0, "
        "COUNT(*) RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING AS w1, "
        "COUNT(*) RANGE BETWEEN 1000 PRECEDING AND CURRENT ROW AS w2)"
    )


def test_a_plan_is_a_tree_with_its_subqueries() -> None:
    inner = n.Filter(SCAN, call("=", [Ref(INT, 0), OuterRef(INT, 0)]))
    plan = n.Filter(SCAN, Subquery(t.BooleanType(False), "EXISTS", inner))
    assert plan_text(plan) == (
        "Filter(EXISTS())\n"
        "  [EXISTS]\n"
        "    Filter((b = outer.$0))\n"
        "      Scan(c.d.t, [b, a, s])\n"
        "  Scan(c.d.t, [b, a, s])"
    )
