"""Data types as types of Spark: what Spark itself says of their Arrow types, and the text of constants."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from pyspark.sql import types as s
from pyspark.sql.pandas.types import to_arrow_type

from millrace.relational import type_table
from millrace.relational import types as t
from millrace.relational.type_table import ROWS, Family, TypeRow, arrow_type
from millrace.spark.tables.steps.spark_types import spark_type
from millrace.spark.tables.steps.sql_text import literal_text

PLAIN = [
    t.BooleanType(), t.TinyIntType(), t.SmallIntType(), t.IntType(), t.BigIntType(), t.FloatType(), t.DoubleType(),
    t.DecimalType(12, 3), t.CharType(3), t.string(), t.BinaryType(2), t.DateType(), t.TimestampType(),
    t.LocalZonedTimestampType(), t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY),
    t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR), t.RawType(), t.VariantType(),
    t.BitmapType(),
]  # fmt: skip


class UuidType(t.AtomicType):
    """A new type: text."""


@pytest.mark.parametrize("kind", PLAIN, ids=str)
def test_spark_has_the_same_arrow_type(kind: t.DataType) -> None:
    assert to_arrow_type(spark_type(kind), timezone="UTC") == arrow_type(kind)


def test_nested_types() -> None:
    multisets = t.ArrayType(t.MultisetType(t.DateType()))
    row = t.RowType([t.RowField("a", multisets), t.RowField("b", t.MapType(t.string(), t.TimeType()))])
    assert spark_type(row) == s.StructType(
        [
            s.StructField("a", s.ArrayType(s.MapType(s.DateType(), s.IntegerType()))),
            s.StructField("b", s.MapType(s.StringType(), s.TimeType(6))),
        ]
    )


def test_what_can_only_be_named_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="can be named, but not computed with"):
        spark_type(t.ArrayType(t.ZonedTimestampType()))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, t.BooleanType(), "TRUE"),
        (-1, t.TinyIntType(), "(-1Y)"),
        (2, t.BigIntType(), "2L"),
        (None, t.IntType(), "CAST(NULL AS INT)"),
        ("it's", t.string(), r"'it\'s'"),
        (dt.date(2024, 5, 6), t.DateType(), "DATE '2024-05-06'"),
        ([1], t.ArrayType(t.IntType()), "CAST(array(1) AS ARRAY<INT>)"),
        ({"a": 2}, t.MultisetType(t.string()), "CAST(map('a', 2) AS MAP<STRING, INT>)"),
        (b"\x01", t.VarBinaryType(1), "X'01'"),
    ],
)
def test_constants(value: object, kind: t.DataType, text: str) -> None:
    assert literal_text(value, kind) == text


def test_a_new_type_needs_only_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[type[t.DataType], TypeRow] = {UuidType: TypeRow(Family.TEXT, str, pa.string())}
    monkeypatch.setattr(type_table, "ROWS", {**ROWS, **rows})
    assert spark_type(t.ArrayType(UuidType())) == s.ArrayType(s.StringType())
    assert literal_text("a", UuidType()) == "'a'"
