"""DECIMAL columns of CSV keep as many digits after the point as their type has."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from millrace.formats.csv_fields import TABLES, FieldReaders
from millrace.formats.csv_schema import CsvColumn, CsvSchema
from millrace.formats.csv_texts import RowTexts, as_they_are, stripped

KIND = pa.decimal128(4, 1)
SCHEMA = CsvSchema((CsvColumn("d", KIND), CsvColumn("n", pa.int32())))


@pytest.mark.parametrize(("text", "value"), [("1.25", "1.3"), ("0.05", "0.1"), ("-1.25", "-1.3"), ("7", "7.0")])
def test_digits_beyond_the_scale_are_rounded_half_up(text: str, value: str) -> None:
    assert str(FieldReaders(TABLES, None, ";").of_arrow(KIND).value(text)) == value
    assert RowTexts(SCHEMA, as_they_are).lines([(Decimal(text), 1)]) == f"{value},1\n"
    assert RowTexts(SCHEMA, stripped).lines([(Decimal(text), 1)]) == f"{value.removesuffix('.0')},1\n"


def test_a_number_that_is_too_large_is_null_when_read_and_an_error_when_written() -> None:
    assert FieldReaders(TABLES, None, ";").of_arrow(KIND).value("1234.5") is None
    with pytest.raises(ValueError, match=r"1234\.5 has too many digits for DECIMAL\(4, 1\)"):
        RowTexts(SCHEMA, stripped).lines([(Decimal("1234.5"), 1)])
