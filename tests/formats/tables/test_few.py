"""Few rows, written one by one, are the messages that many would be."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import nullcontext
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import DAY, MONTHS, UTC, encode, schema

from millrace.formats.csv_texts import csv_texts, few_csv_texts
from millrace.formats.text_columns import FEW
from millrace.relational import types as t

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
VALUES: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (t.string(), TEXT),
    (t.string(), st.text(st.sampled_from(",;|\\\"'\n\r\t\x00 #aé𝄞"), max_size=4)),
    (t.BooleanType(), st.booleans()),
    (t.BigIntType(), st.integers(-(2**63), 2**63 - 1)),
    (t.DoubleType(), st.floats()),
    (t.DoubleType(), st.floats(1e6, 1e17) | st.integers(-(10**17), 10**17).map(float)),
    (t.FloatType(), st.floats(width=32)),
    (t.DecimalType(20, 9), st.decimals(-(10**10), 10**10, places=9)),
    (t.DecimalType(12, 0), (st.integers(-(10**11), 10**11) | st.sampled_from([10**n for n in range(9)])).map(Decimal)),
    (t.DateType(), st.dates()),
    (t.TimeType(6), st.times()),
    (t.TimestampType(6), TIMES),
    (t.LocalZonedTimestampType(3), TIMES.map(lambda each: each.replace(tzinfo=UTC))),
    (MONTHS, st.integers(-(10**6), 10**6)),
    (DAY, st.timedeltas(dt.timedelta(days=-(10**6)), dt.timedelta(days=10**6))),
    (t.VarBinaryType(t.MAX_LENGTH), st.binary(max_size=9)),
    (t.ArrayType(t.string()), st.lists(TEXT | st.none(), max_size=3)),
    (t.MapType(t.string(), t.DoubleType()), st.dictionaries(TEXT, st.floats(), max_size=2)),
]
CSV: list[dict[str, str]] = [
    {},
    {"disable-quote-character": "true", "escape-character": "\\"},
    {"disable-quote-character": "true"},
    {"quote-character": "'", "field-delimiter": "|", "null-literal": "-"},
    {"escape-character": "\\", "write-bigdecimal-in-scientific-notation": "false"},
]
JSON: list[dict[str, str]] = [
    {},
    {"encode.ignore-null-fields": "true", "encode.decimal-as-plain-number": "true"},
    {"timestamp-format.standard": "ISO-8601"},
]


def columns_of_values(skip: tuple[type, ...] = ()) -> st.SearchStrategy[tuple[tuple[t.DataType, ...], list[Any]]]:
    """Types of columns, and rows of them."""
    fitting = [(kind, values) for kind, values in VALUES if not isinstance(kind, skip)]
    chosen = st.lists(st.sampled_from(fitting), min_size=1, max_size=4)
    return chosen.flatmap(
        lambda pairs: st.tuples(
            st.just(tuple(kind for kind, _ in pairs)),
            st.lists(st.tuples(*(values | st.none() for _, values in pairs)), max_size=4),
        )
    )


def _needs_quotes(rows: list[Any], options: dict[str, str]) -> bool:
    """Whether a text cannot be written without quotes, and there are none."""
    if options.keys() != {"disable-quote-character"}:
        return False
    texts = [value for row in rows for value in row if isinstance(value, str)]
    texts += [each for row in rows for value in row if isinstance(value, list) for each in value if each]
    return any(char in text for text in texts for char in ",\n\r")


@given(columns_of_values(skip=(t.MapType,)), st.sampled_from(CSV))
def test_csv(drawn: tuple[tuple[t.DataType, ...], list[Any]], options: dict[str, str]) -> None:
    kinds, rows = drawn
    columns = schema(**{f"c{at}": kind for at, kind in enumerate(kinds)})
    refused = pytest.raises(ValueError, match="disable-quote-character")
    with refused if _needs_quotes(rows, options) else nullcontext():
        assert len(encode("csv", columns, rows, options)) == len(rows)


@given(columns_of_values(), st.sampled_from(JSON))
def test_json(drawn: tuple[tuple[t.DataType, ...], list[Any]], options: dict[str, str]) -> None:
    kinds, rows = drawn
    columns = schema(**{f"c{at}": kind for at, kind in enumerate(kinds)})
    for message, row in zip(encode("json", columns, rows, options), rows, strict=True):
        found = json.loads(message or b"")
        for at, (kind, value) in enumerate(zip(kinds, row)):
            if isinstance(kind, (t.VarCharType, t.BooleanType, t.BigIntType)):
                assert found.get(f"c{at}") == value


@pytest.mark.parametrize("number", [-(2**62), -62_135_596_800_000_001, 253_402_300_800_000_000])
def test_years_that_python_has_not(number: int) -> None:
    for type, kind in (
        (pa.timestamp("us"), t.TimestampType(6)),
        (pa.timestamp("us", "UTC"), t.LocalZonedTimestampType(6)),
    ):
        column = pa.array([number, 0, None], pa.int64()).cast(type)
        assert few_csv_texts(column, kind, "", ";", True) == csv_texts(column, kind, "", ";", True).to_pylist()


def test_many_rows_are_written_all_at_once() -> None:
    columns, rows = schema(a=t.string(), b=t.IntType()), [(f"x,{at}", at) for at in range(2 * FEW)]
    assert encode("csv", columns, rows) == [f'"x,{at}",{at}'.encode() for at in range(2 * FEW)]
    assert encode("json", columns, rows) == [f'{{"a":"x,{at}","b":{at}}}'.encode() for at in range(2 * FEW)]
