"""DECIMAL columns of CSV keep as many digits after the point as their type has."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from millrace.formats.csv_schema import CsvColumn, CsvDialect
from millrace.formats.text_values import field_formatter, field_parser

COLUMN = CsvColumn("d", pa.decimal128(4, 1))


@pytest.mark.parametrize(("text", "value"), [("1.25", "1.3"), ("0.05", "0.1"), ("-1.25", "-1.3"), ("7", "7.0")])
def test_digits_beyond_the_scale_are_rounded_half_up(text: str, value: str) -> None:
    assert str(field_parser(COLUMN, CsvDialect())(text)) == value
    assert field_formatter(COLUMN, CsvDialect())(Decimal(text)) == value


def test_a_number_that_is_too_large_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"1234\.5 has too many digits for DECIMAL\(4, 1\)"):
        field_parser(CsvColumn("d", pa.decimal128(4, 1)), CsvDialect())("1234.5")
