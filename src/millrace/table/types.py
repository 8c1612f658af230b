"""Data types of tables, ``DataTypes`` to make them, and their Arrow forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.common.types import Row, RowKind
from millrace.relational.arrow import arrow_type
from millrace.relational.types import (
    ArrayType,
    AtomicType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    ListViewType,
    LocalZonedTimestampType,
    MapType,
    MapViewType,
    MultisetType,
    NullType,
    NumericType,
    RawType,
    Resolution,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)
from millrace.table.arrow_types import create_arrow_schema, from_arrow_type, to_arrow_type
from millrace.table.data_types import DataTypes

__all__ = ["DataTypes", "UserDefinedType", "Row", "RowKind"]
