"""Whole blocks of CSV against the same records read message by message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import context, schema

from millrace.connectors.file_system.table.line_formats import Quotes, records_of
from millrace.formats.csv_blocks import has_hexadecimal
from millrace.formats.tables.csv_format import CsvDecoding, CsvFormatFactory
from millrace.relational import types as t

COLUMNS = schema(a=t.BigIntType(), b=t.string(), c=t.DoubleType(), d=t.TimestampType(3), e=t.TinyIntType())
NULLS = {"null-literal": "-"}


def decoding(options: dict[str, str] | None = None) -> CsvDecoding:
    made = CsvFormatFactory().decoding(context(COLUMNS, options))
    assert isinstance(made, CsvDecoding)
    return made


def by_message(format: CsvDecoding, block: bytes) -> list[dict[str, Any]] | None:
    """None for an error."""
    messages, _ = records_of(block, Quotes(b'"'), whole=True)
    try:
        found: list[dict[str, Any]] = format.decode(messages.filter(messages.is_valid())).rows.batch.to_pylist()
    except ValueError:
        return None
    return found


USUAL = [
    b'1,abc,0.5,2020-01-02 03:04:05.678,7\n-22,"a,b ""c""",-1e3,2020-01-02 03:04:05,\n,,,,\n',
    b' 7 ,"two\nlines",1.,1999-12-31 23:59:59.999999,-128\n007,\xc3\xbc,.5,0001-01-01 00:00:00,0',
]


@pytest.mark.parametrize("block", USUAL)
def test_usual_blocks_are_read_at_once(block: bytes) -> None:
    format = decoding()
    rows = format.decode_lines(block)
    assert rows is not None and rows.batch.to_pylist() == by_message(format, block)


@pytest.mark.parametrize("line", [b"5,x,1,2020-01-02 03:04:05,1", b"-,-,-,-,-"])
def test_line_ends_of_windows_and_null_literals(line: bytes) -> None:
    format = decoding(NULLS)
    rows = format.decode_lines(line + b"\r\n" + line + b"\r\n")
    assert rows is not None and rows.batch.to_pylist() == by_message(format, line + b"\n" + line + b"\n")


UNUSUAL = {
    "too few fields": b"1,a\n",
    "a number that is none": b"x,a,1,2020-01-02 03:04:05,1\n",
    "a number in another form": b"0x10,a,1,2020-01-02 03:04:05,1\n",
    "a number that is too large": b"1,a,1,2020-01-02 03:04:05,200\n",
    "a day": b"1,a,1,2020-01-02,1\n",
    "a time with a T": b"1,a,1,2020-01-02T03:04:05,1\n",
    "no number": b"1,a,nan,2020-01-02 03:04:05,1\n",
    "text after a quote": b'1,"a"b,1,2020-01-02 03:04:05,1\n',
    "a quote in a text": b'1,a"b"c,1,2020-01-02 03:04:05,1\n',
    "a quote that is left open": b'1,"a,1,2020-01-02 03:04:05,1\n',
    "a quoted field before a line end of Windows": b'1,"a",1,2020-01-02 03:04:05,1\r\n',
    "an empty line": b"1,a,1,2020-01-02 03:04:05,1\n\n",
    "no UTF-8": b"1,\xff,1,2020-01-02 03:04:05,1\n",
}


@pytest.mark.parametrize("block", UNUSUAL.values(), ids=list(UNUSUAL))
def test_what_needs_a_closer_look(block: bytes) -> None:
    assert decoding().decode_lines(b"1,a,1,2020-01-02 03:04:05,1\n" + block) is None


def test_escapes_and_comments_need_a_closer_look() -> None:
    block = b"1,a\\,b,1,2020-01-02 03:04:05,1\n"
    assert decoding({"escape-character": "\\"}).decode_lines(block) is None
    assert decoding({"allow-comments": "true"}).decode_lines(block) is None


def test_only_some_columns() -> None:
    """What lies in the others is not looked at, in a block and message by message."""
    block = b"x,abc,0.5,y,7\nz,d,1,y,300\n"
    format = decoding().narrowed([2, 1])
    rows = format.decode_lines(block)
    assert rows is not None and rows.batch.to_pylist() == [{"c0": 0.5, "c1": "abc"}, {"c0": 1.0, "c1": "d"}]
    assert by_message(format, block) == rows.batch.to_pylist()
    nothing = decoding().narrowed([]).decode_lines(block)
    assert nothing is not None and len(nothing) == 2


FIELDS = st.sampled_from(
    ["", "1", "-5", " 2", "0x1", "+3", "1.5", "a", '"q"', '"a,b"', '"x""y"', '"l\nm"', 'a"b', '"', "-", "2020-01-02",
     "2020-01-02 03:04:05", "2020-01-02 03:04:05.1234567", "nan", "\r", "é", "\\"]
)  # fmt: skip
LINES = st.lists(st.lists(FIELDS, min_size=4, max_size=6).map(",".join), min_size=1, max_size=4)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([None, NULLS]))
def test_property_a_block_is_read_as_its_messages_or_not_at_all(
    lines: list[str], end: str, options: dict[str, str] | None
) -> None:
    format = decoding(options)
    block = (end.join(lines) + end).encode()
    rows = format.decode_lines(block)
    if rows is not None:
        assert rows.batch.to_pylist() == by_message(format, block)


@given(st.lists(st.sampled_from([b"0", b"x", b"X", b"1", b"\xd0", b"\x98"]), min_size=1, max_size=9).map(b"".join))
def test_hexadecimal_numbers_are_found_at_every_place(block: bytes) -> None:
    assert has_hexadecimal(np.frombuffer(block, np.uint8)) == (b"0x" in block or b"0X" in block)
