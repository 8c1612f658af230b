"""``raw`` for tables."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import decode, encode, schema
from tests.ids import shown

from millrace.relational import types as t
from millrace.util.exceptions import TableException

# (type, value, how the struct module writes it)
NUMBERS = [
    (t.TinyIntType(), -5, "b"),
    (t.SmallIntType(), -300, "h"),
    (t.IntType(), 70_000, "i"),
    (t.BigIntType(), -(2**63), "q"),
    (t.FloatType(), 1.5, "f"),
    (t.DoubleType(), -2.25, "d"),
    (t.BooleanType(), True, "?"),
]


@pytest.mark.parametrize(("kind", "value", "code"), NUMBERS, ids=shown)
def test_numbers(kind: t.DataType, value: Any, code: str) -> None:
    columns = schema(a=kind)
    for order, options in ((">", {}), ("<", {"endianness": "little-endian"})):
        message = struct.pack(order + code, value)
        assert encode("raw", columns, [(value,), (None,)], options) == [message, None]
        assert decode("raw", columns, [None, message], options) == [(None,), (value,)]


@given(st.lists(st.none() | st.text()), st.sampled_from(["UTF-8", "UTF-16LE", "utf-32-le"]))
def test_text(values: list[str | None], charset: str) -> None:
    columns = schema(a=t.string())
    messages = [None if value is None else value.encode(charset) for value in values]
    assert encode("raw", columns, [(value,) for value in values], {"charset": charset}) == messages
    assert decode("raw", columns, messages, {"charset": charset}) == [(value,) for value in values]


def test_utf_16_is_that_of_java() -> None:
    columns, options = schema(a=t.string()), {"charset": "UTF-16"}
    assert encode("raw", columns, [("ab",)], options) == [b"\xfe\xff\0a\0b"]
    messages = [b"\xfe\xff\0a", b"\xff\xfea\0", b"\0a"]
    assert decode("raw", columns, messages, options) == [("a",), ("a",), ("a",)]


def test_bytes_and_empty_messages() -> None:
    columns = schema(a=t.VarBinaryType(t.MAX_LENGTH))
    assert decode("raw", columns, [b"\xff\x00", b"", None]) == [(b"\xff\x00",), (b"",), (None,)]
    assert encode("raw", columns, [(b"\xff\x00",), (b"",), (None,)]) == [b"\xff\x00", b"", None]


def test_the_log_line_of_the_documentation() -> None:
    line = '47.29.201.179 - - [28/Feb/2019:13:17:10 +0000] "GET /?p=1 HTTP/2.0" 200 5316'
    assert decode("raw", schema(log=t.string()), [line]) == [(line,)]


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert decode("raw", schema(a=t.string()), [b"a\xffb", b"c"]) == [("a\ufffdb",), ("c",)]


def test_wrong_width() -> None:
    with pytest.raises(ValueError, match="table shop: message 1 is malformed: INT has 4 bytes, but there are 3"):
        decode("raw", schema(a=t.IntType()), [b"1234", b"123"])


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        (schema(a=t.IntType(), b=t.IntType()), {}, "exactly one physical column, but the table has 2"),
        (schema(a=t.DateType()), {}, "column 'a': values of DATE"),
        (schema(a=t.RawType()), {}, "column 'a': values of RAW"),
        (schema(a=t.string()), {"charset": "UTF-9"}, "'raw.charset' is 'UTF-9', but has to be a charset"),
        (schema(a=t.IntType()), {"endianness": "bigendian"}, "big-endian or little-endian, did you mean 'big-endian'"),
    ],
)
def test_refused(columns: Any, options: dict[str, str], text: str) -> None:
    with pytest.raises(TableException, match=text):
        decode("raw", columns, [], options)
    with pytest.raises(TableException, match=text):
        encode("raw", columns, [], options)
