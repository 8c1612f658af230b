"""The expected texts are what Flink 2.3 (Java 17) printed for these values."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.text import double_text, float_text, formatter, printer
from millrace.common.time import Instant
from millrace.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo, TypeInformation, Types
from millrace.common.types import Row, RowKind

DOUBLES = {
    1.0: "1.0", 1e10: "1.0E10", 1e-5: "1.0E-5", 1e7: "1.0E7", 9999999.0: "9999999.0", 0.001: "0.001", 0.0001: "1.0E-4",
    math.inf: "Infinity", -math.inf: "-Infinity", 123456789.123: "1.23456789123E8", 1e21: "1.0E21", 5e-324: "4.9E-324",
    0.002: "0.002", 1.7976931348623157e308: "1.7976931348623157E308", 100.0: "100.0", -12.5: "-12.5",
}  # fmt: skip
FLOATS = {
    1.0: "1.0", 0.1: "0.1", 1e10: "1.0E10", 3.3: "3.3", 16777216.0: "1.6777216E7",
    3.4028235e38: "3.4028235E38", 1e-45: "1.4E-45", 123456.789: "123456.79", 0.001: "0.001", 1e-5: "1.0E-5",
    12345678.0: "1.2345678E7",
}  # fmt: skip


@pytest.mark.parametrize(("number", "text"), DOUBLES.items())
def test_doubles(number: float, text: str) -> None:
    assert double_text(number) == text


@pytest.mark.parametrize(("number", "text"), FLOATS.items())
def test_floats(number: float, text: str) -> None:
    assert float_text(struct.unpack("f", struct.pack("f", number))[0]) == text


def test_special_numbers() -> None:
    assert [double_text(number) for number in (math.nan, 0.0, -0.0)] == ["NaN", "0.0", "-0.0"]
    assert [float_text(number) for number in (math.nan, math.inf, -0.0)] == ["NaN", "Infinity", "-0.0"]


@given(st.floats(allow_nan=False))
def test_doubles_read_back(number: float) -> None:
    text = double_text(number)
    assert float(text.replace("Infinity", "inf")) == number
    mantissa = text.partition("E")[0]
    assert "Infinity" in text or len(mantissa.partition(".")[2]) >= 1


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_read_back(number: float) -> None:
    assert struct.unpack("f", struct.pack("f", float(float_text(number))))[0] == number


INT_STRING = [Types.INT(), Types.STRING()]
TEXTS: list[tuple[TypeInformation, Any, str]] = [
    (Types.BOOLEAN(), True, "true"),
    (Types.BIG_DEC(), Decimal("1E+3"), "1E+3"),
    (Types.BIG_DEC(), Decimal("0.000001"), "0.000001"),
    (Types.BIG_DEC(), Decimal("0.0000001"), "1E-7"),
    (Types.BIG_DEC(), Decimal("0E-8"), "0E-8"),
    (Types.SQL_DATE(), dt.date(1970, 1, 1), "1970-01-01"),
    (Types.SQL_TIME(), dt.time(1, 2, 3, 456000), "01:02:03"),
    (Types.SQL_TIMESTAMP(), dt.datetime(1970, 1, 1), "1970-01-01 00:00:00.0"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 456000), "2024-02-29 01:02:03.456"),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 120000), "2024-02-29 01:02:03.12"),
    (Types.INSTANT(), Instant.of_epoch_milli(0), "1970-01-01T00:00:00Z"),
    (Types.INSTANT(), Instant.of_epoch_milli(1234), "1970-01-01T00:00:01.234Z"),
    (Types.INSTANT(), Instant(5, 123456789), "1970-01-01T00:00:05.123456789Z"),
    (Types.INSTANT(), Instant.of_epoch_milli(-1), "1969-12-31T23:59:59.999Z"),
    (Types.INSTANT(), Instant(10**15, 0), "Instant<1000000000000000, 0>"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2], "[1, 2]"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab\xff", "[97, 98, -1]"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None], "[a, null]"),
    (Types.OBJECT_ARRAY(Types.TUPLE(INT_STRING)), [(1, "a")], "[(1,a)]"),
    (Types.LIST(Types.INT()), [], "[]"),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": None}, "{a=1, b=null}"),
    (Types.TUPLE([]), (), "()"),
    (Types.TUPLE([*INT_STRING, Types.DOUBLE()]), (1, None, 2.0), "(1,null,2.0)"),
    (Types.TUPLE([Types.ROW(INT_STRING), Types.INT()]), (Row.of_kind(RowKind.DELETE, 1, "a"), 2), "(-D[1, a],2)"),
    (Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN()]), Row(1, None, True), "+I[1, null, true]"),
    (ExternalTypeInfo(Types.ROW_NAMED(["a"], [Types.DOUBLE()])), Row(a=1.0), "+I[1.0]"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), dt.date(2024, 2, 3), "2024-02-03"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), dt.time(1, 2), "01:02"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), dt.time(1, 2, 0, 1), "01:02:00.000001"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), dt.datetime(1970, 1, 1), "1970-01-01T00:00"),
]


@pytest.mark.parametrize(("type_info", "value", "text"), TEXTS, ids=str)
def test_values(type_info: TypeInformation, value: Any, text: str) -> None:
    assert formatter(type_info)(value) == text
    assert formatter(type_info)(None) == "null"


@pytest.mark.parametrize("value", [None, True, 1.0, (1, "a"), {"a": None}, Row(a=1), b"x"])
def test_values_without_a_type_look_as_in_python(value: Any) -> None:
    assert formatter(Types.PICKLED_BYTE_ARRAY())(value) == str(value)
    assert printer(Types.PICKLED_BYTE_ARRAY())(value) == str(value)


def test_print_shows_rows_as_pyflink_does() -> None:
    type_info = Types.ROW_NAMED(["a", "b", "c"], [Types.INT(), Types.BOOLEAN(), Types.STRING()])
    row = Row.of_kind(RowKind.UPDATE_AFTER, 1, True, None)
    assert printer(type_info)(row) == "+U[1,True,None]"
    assert printer(ExternalTypeInfo(type_info))(row) == "+U[1,True,None]"
    assert printer(Types.TUPLE(INT_STRING))((1, "a")) == "(1,a)"
