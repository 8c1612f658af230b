"""Parameters: what is put into a statement is what SQL reads from it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.dbapi import DataError, ProgrammingError
from millrace.dbapi.parameters import filled, literal
from millrace.table.sql.grammar.parser import parse_query, parse_statement
from millrace.table.sql.text import Kind, Source, tokenize

UTC = dt.timezone.utc


def test_places() -> None:
    text = "SELECT `a?`, '?', ? -- ?\n, /* ? */ ? FROM t /*+ OPTIONS('?'='?') */"
    assert filled(text, (1, "it's ?")) == (
        "SELECT `a?`, '?', 1 -- ?\n, /* ? */ 'it''s ?' FROM t /*+ OPTIONS('?'='?') */"
    )


@pytest.mark.parametrize("parameters", [(), (1, 2), "1", {"a": 1}, 7])
def test_other_numbers_of_parameters(parameters: Any) -> None:
    with pytest.raises(ProgrammingError):
        filled("SELECT ?", parameters)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_stays_one(text: str) -> None:
    tokens = tokenize(Source(filled("SELECT ? FROM t", [text])))
    assert [token.word for token in tokens] == ["SELECT", "", "FROM", "T", ""]
    assert (tokens[1].kind, tokens[1].text) == (Kind.STRING, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (5, "5"),
        (-5, "(-5)"),
        (np.int64(7), "7"),
        (2**63, "CAST('9223372036854775808' AS DECIMAL(19, 0))"),
        (-0.1, "CAST('-0.1' AS DOUBLE)"),
        (np.float64(1.5), "CAST('1.5' AS DOUBLE)"),
        (float("-inf"), "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("1.50"), "CAST('1.50' AS DECIMAL(3, 2))"),
        (Decimal("-0.001"), "CAST('-0.001' AS DECIMAL(3, 3))"),
        (Decimal("1E+2"), "CAST('100' AS DECIMAL(3, 0))"),
        (b"\x0a\xff", "X'0AFF'"),
        (dt.date(20, 1, 2), "DATE '0020-01-02'"),
        (dt.time(3, 4, 5, 6), "TIME '03:04:05.000006'"),
        (dt.datetime(2020, 1, 2, 3, 4, 5), "TIMESTAMP '2020-01-02 03:04:05'"),
        (dt.datetime(1970, 1, 1, 1, 0, 0, 5000, dt.timezone(dt.timedelta(hours=1))), "TO_TIMESTAMP_LTZ(5, 3)"),
        (dt.timedelta(days=1, seconds=2, milliseconds=3), "(INTERVAL '1 00:00:02.003' DAY(1) TO SECOND(3))"),
        (dt.timedelta(seconds=-1), "(INTERVAL -'0 00:00:01.000' DAY(1) TO SECOND(3))"),
        ([1, None], "ARRAY[1, NULL]"),
        ({"a": [1]}, "MAP['a', ARRAY[1]]"),
        (Row(1, "x"), "ROW(1, 'x')"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert literal(value) == text
    parse_statement(f"SELECT 1 -{text}")
    parse_query(f"SELECT {text}")


@pytest.mark.parametrize(
    "value",
    [
        10**38,
        Decimal("NaN"),
        Decimal(1).scaleb(-39),
        "\ud800",
        [],
        {},
        dt.timedelta(microseconds=1),
        dt.datetime(2020, 1, 1, 0, 0, 0, 1, UTC),
        dt.time(1, tzinfo=UTC),
    ],
)
def test_values_that_sql_does_not_have(value: Any) -> None:
    with pytest.raises(DataError):
        literal(value)


def test_other_classes() -> None:
    with pytest.raises(ProgrammingError, match="object"):
        literal(object())
