"""Numbers as text. Expected: what Java documents of ``toString`` of Double, Float and BigDecimal."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.formats.text_columns import decimal_texts, float_texts, parse_whole
from millrace.formats.text_values import parse_boolean

DOUBLES = {
    0.0: "0.0", 1.0: "1.0", -1.5: "-1.5", 1e6: "1000000.0", 9999999.0: "9999999.0", 1e7: "1.0E7", 0.001: "0.001",
    0.00099: "9.9E-4", 123456789.5: "1.234567895E8", 1e22: "1.0E22", float("inf"): "Infinity",
    float("-inf"): "-Infinity", 0.1: "0.1", 1.7976931348623157e308: "1.7976931348623157E308",
}  # fmt: skip


def test_doubles() -> None:
    column = pa.array([*DOUBLES, None, float("nan"), -0.0], pa.float64())
    assert float_texts(column).to_pylist() == [*DOUBLES.values(), None, "NaN", "-0.0"]


def test_floats() -> None:
    column = pa.array([0.1, 1e7, 3.4e38, 16777216.0, None], pa.float32())
    assert float_texts(column).to_pylist() == ["0.1", "1.0E7", "3.4E38", "1.6777216E7", None]


@given(st.lists(st.floats(allow_nan=False)), st.lists(st.floats(width=32, allow_nan=False)))
def test_no_digit_is_lost(doubles: list[float], floats: list[float]) -> None:
    read = [float(text) for text in float_texts(pa.array(doubles, pa.float64())).to_pylist()]
    assert list(map(str, read)) == list(map(str, doubles))
    texts = float_texts(pa.array(floats, pa.float32())).to_pylist()
    assert [struct.pack("f", float(text)) for text in texts] == [struct.pack("f", value) for value in floats]


DECIMALS = [
    ("1.50", "1.5", "1.5"), ("100.00", "1E+2", "100"), ("0.00", "0", "0"), ("-10.10", "-10.1", "-10.1"),
    ("0.01", "0.01", "0.01"), ("120.00", "1.2E+2", "120"),
]  # fmt: skip


@pytest.mark.parametrize("exponents", [True, False])
def test_decimals(exponents: bool) -> None:
    column = pa.array([*(Decimal(each[0]) for each in DECIMALS), None], pa.decimal128(10, 2))
    expected = [each[1 if exponents else 2] for each in DECIMALS]
    assert decimal_texts(column, exponents).to_pylist() == [*expected, None]
    small = pa.array([Decimal("0.00000001"), Decimal("0.00000120")], pa.decimal128(10, 8))
    expected = ["1E-8", "0.0000012"] if exponents else ["0.00000001", "0.0000012"]
    assert decimal_texts(small, exponents).to_pylist() == expected


@given(st.lists(st.decimals(min_value=-(10**28), max_value=10**28, places=9)), st.booleans())
def test_no_digit_of_a_decimal_is_lost(values: list[Decimal], exponents: bool) -> None:
    texts = decimal_texts(pa.array(values, pa.decimal128(38, 9)), exponents).to_pylist()
    assert list(map(Decimal, texts)) == values


def test_single_values() -> None:
    assert [parse_whole(" +12 ", 8), parse_whole("-128", 8)] == [12, -128]
    assert [parse_boolean(" True"), parse_boolean("false")] == [True, False]
    for text in ("1_0", "1.0", "", "0x1", "128"):
        with pytest.raises(ValueError):
            parse_whole(text, 8)
