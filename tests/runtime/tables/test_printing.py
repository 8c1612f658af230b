"""Lines of the print connector, as Flink writes them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from tests.runtime.tables.tabular import harness, schema

from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.runtime.tables.printing import PrintRows

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
    (t.TimestampType(3), dt.datetime(2026, 5, 1, 12, 30), "2026-05-01T12:30"),
    (
        t.LocalZonedTimestampType(3),
        dt.datetime(2026, 5, 1, 12, 30, tzinfo=dt.timezone.utc),
        "2026-05-01T12:30:00Z",
    ),
    (SECONDS, dt.timedelta(days=1, hours=1, seconds=4, milliseconds=500), "PT25H4.5S"),
    (SECONDS, dt.timedelta(minutes=-3), "PT-3M"),
    (MONTHS, 14, "P1Y2M"),
    (t.ArrayType(t.IntType()), [1, None], "[1, null]"),
    (t.MapType(t.string(), t.BooleanType()), {"a": True}, "{a=true}"),
    (t.MultisetType(t.string()), {"a": 2}, "{a=2}"),
    (ROW, (1, None), "+I[1, null]"),
]


def lines(columns: Any, changes: list[Any], identifier: str | None = None, **settings: Any) -> list[str]:
    with harness(PrintRows(input=columns, identifier=identifier), columns, **settings) as run:
        run.process_elements([(change, None) for change in changes])
        run.end_epoch()
        return run.printed


@pytest.mark.parametrize(("data_type", "value", "text"), TEXTS, ids=str)
def test_values(data_type: DataType, value: Any, text: str) -> None:
    assert lines(schema(data_type), [("+I", value)]) == [f"+I[{text}]"]


def test_kinds() -> None:
    changes = [(kind, 1, "a") for kind in ("+I", "-U", "+U", "-D")]
    assert lines(schema(t.IntType(), t.string()), changes) == ["+I[1, a]", "-U[1, a]", "+U[1, a]", "-D[1, a]"]


@pytest.mark.parametrize(
    ("identifier", "parallelism", "prefix"),
    [(None, 1, ""), (None, 3, "2> "), ("out", 1, "out> "), ("out", 3, "out:2> ")],
)
def test_prefix(identifier: str | None, parallelism: int, prefix: str) -> None:
    found = lines(
        schema(t.IntType()),
        [("+I", 7)],
        identifier,
        parallelism=parallelism,
        subtask=1 if parallelism > 1 else 0,
    )
    assert found == [f"{prefix}+I[7]"]
