"""Blocks of bytes cut into lines and records."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.file_system.table.line_formats import Quotes, lines_of, records_of

QUOTES = Quotes(b'"')


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\r\n\r\nb\n", [b"a", b"", b"b"]),
        (b"\n", [b""]),
        (b"a\rb\n", [b"a\rb"]),
        ("ä\n€".encode(), ["ä".encode(), "€".encode()]),
    ],
)
def test_lines(block: bytes, lines: list[bytes]) -> None:
    assert lines_of(block).to_pylist() == lines


@given(st.lists(st.text(alphabet="ab \r", max_size=4).map(str.encode), max_size=8), st.booleans())
def test_property_lines(lines: list[bytes], ended: bool) -> None:
    block = b"".join(line + b"\n" for line in lines)
    if not ended:
        block = block[:-1]
    pieces = block.split(b"\n")
    expected = pieces[:-1] if not pieces[-1] else pieces
    assert lines_of(block).to_pylist() == [each.removesuffix(b"\r") for each in expected]


def test_a_record_that_goes_on() -> None:
    block = b'1,"a\nb"\n2,"c\n'
    records, end = records_of(block, QUOTES, whole=False)
    assert records.to_pylist() == [b'1,"a\nb"'] and block[end:] == b'2,"c\n'
    rest, end = records_of(block[end:] + b'd"', QUOTES, whole=True)
    assert rest.to_pylist() == [b'2,"c\nd"'] and end == 7


def test_a_quote_that_is_escaped() -> None:
    block = b'1,"a\\"\nb"\n2,\\\\"x"\n'
    assert records_of(block, Quotes(b'"', b"\\"), whole=True)[0].to_pylist() == [b'1,"a\\"\nb"', b'2,\\\\"x"']


FIELDS = st.lists(st.text(alphabet='a",\n', max_size=5), min_size=1, max_size=3)


@given(st.lists(FIELDS, max_size=6), st.integers(1, 30))
def test_property_records_are_those_that_the_csv_module_wrote(rows: list[list[str]], size: int) -> None:
    written = []
    for row in rows:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
        written.append(text.getvalue().encode())
    data, rest, found = b"".join(written), b"", []
    for start in range(0, len(data), size):
        content = rest + data[start : start + size]
        records, end = records_of(content, QUOTES, whole=False)
        found += records.to_pylist()
        rest = content[end:]
    assert [each + b"\n" for each in found] == written and not rest
