# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Data types of tables, ``DataTypes`` to make them, and their Arrow forms."""

from __future__ import annotations

from millrace.common.types import Row, RowKind
from millrace.relational.type_table import from_arrow_type
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
from millrace.table.values.arrow_tables import create_arrow_schema, to_arrow_type
from millrace.table.values.data_types import DataTypes
from millrace.table.values.data_types import _from_java_data_type as _from_java_data_type
from millrace.table.values.data_types import _to_java_data_type as _to_java_data_type
from millrace.table.values.elements import ARRAY_TYPES as _array_type_mappings  # noqa: F401
from millrace.table.values.elements import SIGNED_CODES as _array_signed_int_typecode_ctype_mappings  # noqa: F401
from millrace.table.values.elements import UNSIGNED_CODES as _array_unsigned_int_typecode_ctype_mappings  # noqa: F401
from millrace.table.values.elements import infer_row as _infer_schema  # noqa: F401
from millrace.table.values.elements import infer_schema_from_data as _infer_schema_from_data  # noqa: F401
from millrace.table.values.elements import infer_type as _infer_type  # noqa: F401
from millrace.table.values.elements import merge_type as _merge_type  # noqa: F401
from millrace.table.values.elements import type_verifier as _create_type_verifier  # noqa: F401

__all__ = [
    "DataTypes",
    "UserDefinedType",
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DataType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntegralType",
    "IntType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "TimestampType",
    "TimeType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "Row",
    "RowKind",
    "create_arrow_schema",
    "to_arrow_type",
    "from_arrow_type",
]
