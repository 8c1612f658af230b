"""Rows as Flink writes them: each value as Java's ``toString`` gives it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.print_table import row_text
from millrace.relational import types as t
from millrace.relational.types import DataType

ROW = t.RowType([t.RowField("a", t.IntType()), t.RowField("b", t.string())])
SECONDS = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)

TEXTS: list[tuple[DataType, Any, str]] = [
    (t.IntType(), 5, "5"),
    (t.IntType(), None, "null"),
    (t.string(), "a b", "a b"),
    (t.BooleanType(), True, "true"),
    (t.DoubleType(), 1e10, "1.0E10"),
    (t.FloatType(), 0.1, "0.1"),
    (t.DecimalType(10, 2), Decimal("1.5"), "1.50"),
    (t.VarBinaryType(9), b"\x01\xff", "[1, -1]"),
    (t.DateType(), dt.date(2026, 5, 1), "2026-05-01"),
    (t.TimeType(), dt.time(12, 30), "12:30"),
    (t.TimestampType(3), dt.datetime(2026, 5, 1, 12, 30, 1, 250_000), "2026-05-01T12:30:01.250"),
    (t.TimestampType(6), dt.datetime(2026, 5, 1, 12, 30, 1, 250_001), "2026-05-01T12:30:01.250001"),
    (t.TimestampType(3), dt.datetime(2026, 5, 1, 12, 30), "2026-05-01T12:30"),
    (t.LocalZonedTimestampType(3), dt.datetime(2026, 5, 1, 12, 30, tzinfo=dt.timezone.utc), "2026-05-01T12:30:00Z"),
    (SECONDS, dt.timedelta(days=1, hours=1, seconds=4, milliseconds=500), "PT25H4.5S"),
    (SECONDS, dt.timedelta(minutes=-3), "PT-3M"),
    (SECONDS, dt.timedelta(0), "PT0S"),
    (MONTHS, 14, "P1Y2M"),
    (MONTHS, 0, "P0D"),
    (t.ArrayType(t.IntType()), [1, None], "[1, null]"),
    (t.MapType(t.string(), t.BooleanType()), {"a": True}, "{a=true}"),
    (t.MultisetType(t.string()), {"a": 2}, "{a=2}"),
    (ROW, Row(1, None), "+I[1, null]"),
]


@pytest.mark.parametrize(("data_type", "value", "text"), TEXTS, ids=str)
def test_values(data_type: DataType, value: Any, text: str) -> None:
    assert row_text([data_type])(Row(value)) == f"+I[{text}]"


@pytest.mark.parametrize("kind", list(RowKind), ids=str)
def test_kinds(kind: RowKind) -> None:
    row = Row(1, "a")
    row.set_row_kind(kind)
    marks = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
    assert row_text([t.IntType(), t.string()])(row) == f"{marks[kind.name]}[1, a]"
