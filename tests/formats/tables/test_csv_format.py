"""``csv`` for tables: Flink's examples, every type there and back, quoting, malformed messages."""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import DAY, MONTHS, UTC, decode, decoded, encode, schema
from tests.ids import shown

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.util.exceptions import TableException

PAIR = t.RowType([t.RowField("x", t.IntType()), t.RowField("label", t.string())])

# (type, Python value, its text; Java's library quotes text with a character up to the separator)
VALUES: list[tuple[t.DataType, Any, str]] = [
    (t.BooleanType(), True, "true"),
    (t.TinyIntType(), -128, "-128"),
    (t.SmallIntType(), 32767, "32767"),
    (t.IntType(), -(2**31), "-2147483648"),
    (t.BigIntType(), 2**63 - 1, "9223372036854775807"),
    (t.FloatType(), 0.5, "0.5"),
    (t.DoubleType(), 1e10, "1.0E10"),
    (t.DoubleType(), float("inf"), "Infinity"),
    (t.DecimalType(10, 2), Decimal("12.30"), "12.3"),
    (t.DecimalType(10, 0), Decimal(100000), "1E+5"),
    (t.CharType(3), "abc", "abc"),
    (t.string(), "a b", '"a b"'),
    (t.string(), 'say "hi", ü', '"say ""hi"", ü"'),
    (t.string(), "two\nlines", '"two\nlines"'),
    (t.string(), "1234567890123456789012345", '"1234567890123456789012345"'),
    (t.VarBinaryType(t.MAX_LENGTH), b"\x00\xff\x10", "AP8Q"),
    (t.DateType(), dt.date(2020, 2, 29), "2020-02-29"),
    (t.TimeType(3), dt.time(12, 13, 14, 120_000), "12:13:14.12"),
    (t.TimestampType(3), dt.datetime(2020, 12, 30, 12, 13, 14, 123_000), '"2020-12-30 12:13:14.123"'),
    (t.LocalZonedTimestampType(3), dt.datetime(2020, 12, 30, 12, 13, 14, tzinfo=UTC), '"2020-12-30 12:13:14Z"'),
    (MONTHS, 14, "14"),
    (DAY, dt.timedelta(days=1, milliseconds=5), "86400005"),
    (t.ArrayType(t.IntType()), [1, None, 3], "1;;3"),
    (t.ArrayType(t.string()), ["a,b", "c"], '"a,b;c"'),
    (t.ArrayType(t.TimestampType(0)), [dt.datetime(2020, 1, 1)], '"2020-01-01 00:00:00"'),
    (PAIR, Row(x=1, label="z"), "1;z"),
]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=shown)
def test_every_type_there_and_back(kind: t.DataType, value: Any, text: str) -> None:
    columns = schema(a=kind, b=t.IntType())
    options = {"null-literal": "n/a"}
    messages = [f"{text},7".encode(), b"n/a,8"]
    if not isinstance(kind, (t.ArrayType, t.RowType)):
        assert encode("csv", columns, [(value, 7), (None, 8)], options) == messages
        assert decode("csv", columns, messages, options) == [(value, 7), (None, 8)]
    assert encode("csv", columns, [(value, 7)]) == messages[:1]
    assert decode("csv", columns, messages[:1]) == [(value, 7)]
    odd = [f"{text}, +7 ".encode()]  # a number that only the reader of single values takes
    assert decode("csv", columns, odd) == [(value, 7)]


def test_null_inside_of_arrays_and_rows() -> None:
    columns = schema(a=t.ArrayType(t.string()), b=PAIR, c=t.ArrayType(t.IntType()))
    options = {"null-literal": "-", "array-element-delimiter": "::"}
    row = (["a", None], Row(x=None, label="y"), [])
    assert encode("csv", columns, [row, (None, None, None)], options) == [b"a::-,-::y,", b"-,-,-"]
    assert decode("csv", columns, [b"a::-,-::y,", b"-,-,-"], options) == [row, (None, None, None)]
    assert decode("csv", columns, [" , , "]) == [([], None, [])]


def test_dialect() -> None:
    columns = schema(a=t.string(), b=t.IntType(), c=t.string())
    rows = [("x|y", 1, "it's"), ("", None, "")]
    options = {"field-delimiter": "|", "quote-character": "'"}
    messages = [b"'x|y'|1|'it''s'", b"||"]
    assert encode("csv", columns, rows, options) == messages
    assert decode("csv", columns, messages, options) == rows
    assert decode("csv", columns, ["a\t1\tb"], {"field-delimiter": r"\t"}) == [("a", 1, "b")]


@pytest.mark.parametrize("delimiter", ["\x01", "¦", "|", ".", "^", "-", " "], ids=repr)
@pytest.mark.parametrize("quote", ['"', "'", "”"], ids=repr)
def test_any_character_can_be_a_delimiter(delimiter: str, quote: str) -> None:
    columns = schema(a=t.string(), b=t.DoubleType(), c=t.DateType(), d=t.IntType())
    rows = [(f"x{delimiter}y{quote}", -1.5, dt.date(2020, 1, 2), -3), ("plain", None, None, None)]
    options = {"field-delimiter": delimiter, "quote-character": quote}
    messages = encode("csv", columns, rows, options)
    assert decode("csv", columns, messages, options) == rows
    # Quoted where Java's library does so: with a character up to the greater one of delimiter and quote.
    text = "plain" if max(delimiter, quote) < "a" else f"{quote}plain{quote}"
    assert messages[1] == f"{text}{delimiter * 3}".encode()


def test_escapes() -> None:
    columns, options = schema(a=t.string(), b=t.string()), {"escape-character": "\\"}
    rows = [("a\\b", 'q"'), ("plain", ",\n")]
    assert decode("csv", columns, encode("csv", columns, rows, options), options) == rows
    assert decode("csv", columns, [r"a\,b,c"], options) == [("a,b", "c")]
    no_quotes = {**options, "disable-quote-character": "true"}
    messages = encode("csv", columns, [("a,b", '"')], no_quotes)
    assert messages == [b'a\\,b,"']
    assert decode("csv", columns, messages, no_quotes) == [("a,b", '"')]


def test_text_that_cannot_be_written_without_quotes() -> None:
    with pytest.raises(ValueError, match=r"column 'a': 'x,y' holds the field delimiter"):
        encode("csv", schema(a=t.string(), b=t.string()), [("x,y", "")], {"disable-quote-character": "true"})


def test_decimals_without_exponents() -> None:
    options = {"write-bigdecimal-in-scientific-notation": "false"}
    assert encode("csv", schema(a=t.DecimalType(10, 0)), [(Decimal(100000),)], options) == [b"100000"]


def test_a_table_of_one_column_loses_no_row() -> None:
    for kind, back in ((t.string(), ""), (t.IntType(), None)):
        messages = encode("csv", schema(a=kind), [(None,)])
        assert messages == [b'""']
        assert decode("csv", schema(a=kind), messages) == [(back,)]


def test_comments_blank_messages_and_line_ends() -> None:
    columns = schema(a=t.IntType(), b=t.string())
    messages = ["# a comment", "1,x\r\n", None, b"", "2,#\n", "3,y"]
    found = decoded("csv", columns, messages, {"allow-comments": "true"})
    assert (found.messages.tolist(), found.skipped) == ([1, 4, 5], 0)
    assert decode("csv", columns, messages, {"allow-comments": "true"}) == [(1, "x"), (2, "#"), (3, "y")]


def test_blanks_around_values() -> None:
    columns = schema(i=t.IntType(), d=t.DoubleType(), b=t.BooleanType(), s=t.string(), day=t.DateType())
    assert decode("csv", columns, [" 1 , 2.5 , TRUE , x ,2020-1-2"]) == [(1, 2.5, True, " x ", dt.date(2020, 1, 2))]
    assert decode("csv", columns, [",,,,"]) == [(None, None, None, "", None)]


@pytest.mark.parametrize("message", ["1", '1,"x', '1,"x"y', "1,x,y", "1,x\n2,y", b"1,\xff"], ids=repr)
def test_malformed_messages(message: bytes | str) -> None:
    columns = schema(a=t.IntType(), b=t.string())
    messages = ["7,a", message, '8,"b"']
    with pytest.raises(ValueError, match="table shop: message 1 is malformed"):
        decode("csv", columns, messages)
    lenient = {"ignore-parse-errors": "true"}
    if message == "1":  # too few fields are NULL then
        assert decode("csv", columns, messages, lenient) == [(7, "a"), (1, None), (8, "b")]
    else:
        assert decoded("csv", columns, messages, lenient).skipped == 1
        assert decode("csv", columns, messages, lenient) == [(7, "a"), (8, "b")]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (t.IntType(), "x"), (t.IntType(), "1.5"), (t.IntType(), "0x1F"), (t.TinyIntType(), "128"),
        (t.BigIntType(), "1_0"),
        (t.DoubleType(), "1,5"), (t.BooleanType(), "yes"), (t.BooleanType(), "1"), (t.DateType(), "2020-02-30"),
        (t.TimestampType(3), "2020-12-30T12:13:14"), (t.TimeType(), "noon"), (t.VarBinaryType(9), "?"),
        (t.ArrayType(t.IntType()), "1;x"), (PAIR, "1"), (PAIR, "x;y"), (t.DecimalType(5, 2), "1 2"),
    ],
    ids=shown,
)  # fmt: skip
def test_malformed_fields_are_errors_or_null(kind: t.DataType, text: str) -> None:
    columns = schema(a=kind, b=t.IntType())
    messages = [None, ",1", f'"{text}",2']
    with pytest.raises(ValueError, match="message 2 is malformed: field 'a'"):
        decode("csv", columns, messages)
    found = decode("csv", columns, messages, {"ignore-parse-errors": "true"})
    parts = {"1;x": [1, None], "x;y": Row(x=None, label="y"), "1": Row(x=1, label=None)}
    inner = parts.get(text) if isinstance(kind, (t.ArrayType, t.RowType)) else None
    empty = [] if isinstance(kind, t.ArrayType) else b"" if isinstance(kind, t.VarBinaryType) else None
    assert found == [(empty, 1), (inner, 2)]


def test_one_odd_message_among_many() -> None:
    messages = [f"{number},x" for number in range(2000)]
    messages[700], messages[1500] = '700,"a""b"', "oops,1,2"
    found = decoded("csv", schema(a=t.IntType(), b=t.string()), messages, {"ignore-parse-errors": "true"})
    expected = [number for number in range(2000) if number != 1500]
    assert (found.rows.columns[0].to_pylist(), found.messages.tolist(), found.skipped) == (expected, expected, 1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"field-delimiter": "||"}, "'csv.field-delimiter' is .* a single character"),
        ({"disable-quote-character": "true", "quote-character": "'"}, "leave one of them out"),
        ({"array-element-delimiter": ""}, "not empty"),
        ({"delimiter": ";"}, "no option 'csv.delimiter', did you mean 'csv.field-delimiter'"),
    ],
)
def test_wrong_options(options: dict[str, str], text: str) -> None:
    with pytest.raises(TableException, match=text):
        decode("csv", schema(a=t.IntType()), [], options)


@pytest.mark.parametrize("kind", [t.MapType(t.string(), t.string()), t.RawType(), t.ArrayType(PAIR)], ids=shown)
def test_types_without_form_are_refused_by_name(kind: t.DataType) -> None:
    with pytest.raises(TableException, match="format 'csv', column 'bad'"):
        decode("csv", schema(bad=kind), [])
    with pytest.raises(TableException, match="format 'csv', column 'bad'"):
        encode("csv", schema(bad=kind), [])


# Text as it is written: no line ends at its ends, which belong to the line, and no halves of characters.
TEXTS = st.text().filter(lambda text: "\0" not in text)
PLAIN = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    TEXTS,
    st.none() | st.floats(allow_nan=False),
    st.none() | st.datetimes(),
    st.none() | st.decimals(min_value=-(10**20), max_value=10**20, places=9),
    st.none() | st.booleans(),
)
COLUMNS = schema(
    i=t.BigIntType(), s=t.string(), d=t.DoubleType(), t=t.TimestampType(6), c=t.DecimalType(38, 9), b=t.BooleanType()
)


@given(st.lists(PLAIN, max_size=8), st.sampled_from([{}, {"field-delimiter": "\t"}, {"escape-character": "\\"}]))
def test_any_values_there_and_back(values: list[tuple[Any, ...]], options: dict[str, str]) -> None:
    messages = encode("csv", COLUMNS, values, options)
    assert decode("csv", COLUMNS, messages, options) == values
    if "escape-character" not in options:  # the csv module is the oracle of what is CSV
        delimiter = options.get("field-delimiter", ",")
        read = [next(csv.reader([(each or b"").decode()], delimiter=delimiter, strict=True)) for each in messages]
        assert [each[1] for each in read] == [row[1] for row in values]
        assert [each[0] for each in read] == ["" if row[0] is None else str(row[0]) for row in values]
