"""Literals of intervals against timedelta and DuckDB."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.nodes import IntervalLiteral
from millrace.table.sql.text import SqlParseError


def value(text: str) -> int:
    found = parse_expression(f"INTERVAL {text}")
    assert isinstance(found, IntervalLiteral)
    return found.value


def microseconds(**parts: float) -> int:
    return timedelta(**parts) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'5' SECOND", microseconds(seconds=5)),
        ("'5.5' SECONDS", microseconds(seconds=5.5)),
        ("'0.000001' SECOND(1, 6)", 1),
        ("'90' MINUTE", microseconds(minutes=90)),
        ("'-2' HOURS", -microseconds(hours=2)),
        ("- '2' DAY(3)", -microseconds(days=2)),
        ("-'-2' DAY", microseconds(days=2)),
        ("+'2' WEEK", microseconds(weeks=2)),
        ("'1 02' DAY TO HOUR", microseconds(days=1, hours=2)),
        ("'1 02:03' DAY TO MINUTE", microseconds(days=1, hours=2, minutes=3)),
        ("'10 00:00:00.004' DAY TO SECOND(3)", microseconds(days=10, milliseconds=4)),
        ("'-01:30' HOUR TO MINUTE", -microseconds(minutes=90)),
        ("'02:03:04' HOUR TO SECOND", microseconds(hours=2, minutes=3, seconds=4)),
        ("'03:04.5' MINUTE TO SECOND", microseconds(minutes=3, seconds=4.5)),
    ],
)
def test_times_are_microseconds(text: str, expected: int) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("'3' MONTH", 3),
        ("'2' YEARS", 24),
        ("'2-10' YEAR TO MONTH", 34),
        ("'-1-1' YEAR TO MONTH", -13),
        ("'2' QUARTER", 6),
    ],
)
def test_months_are_counted(text: str, months: int) -> None:
    found = parse_expression(f"INTERVAL {text}")
    assert isinstance(found, IntervalLiteral)
    assert found.in_months
    assert found.value == months


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999_999))
def test_all_units_together_are_what_duckdb_makes_of_them(
    days: int, hours: int, minutes: int, seconds: int, micros: int
) -> None:
    clock = f"{hours:02}:{minutes:02}:{seconds:02}.{micros:06}"
    row = duckdb.execute(f"SELECT INTERVAL '{days} days {clock}'").fetchone()
    assert row is not None
    assert value(f"'{days} {clock}' DAY TO SECOND") == row[0] // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("'1:2' DAY TO HOUR", "1 1"),
        ("'5.5' MINUTE", "1"),
        ("'x' SECOND", "5.5"),
        ("'1' DAY TO SECOND", "1 1:1:05.5"),
        ("'1' YEAR TO MONTH", "1-1"),
        ("'' HOUR", "1"),
    ],
)
def test_a_text_that_does_not_fit_shows_one_that_does(text: str, example: str) -> None:
    with pytest.raises(SqlParseError, match=f"it looks like '{example}'"):
        value(text)


def test_units_have_their_order() -> None:
    with pytest.raises(SqlParseError, match="there is no interval MINUTE TO HOUR"):
        value("'1:2' MINUTE TO HOUR")
