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
from millrace.table.values.elements import ARRAY_TYPES as _array_type_mappings
from millrace.table.values.elements import SIGNED_CODES as _array_signed_int_typecode_ctype_mappings
from millrace.table.values.elements import UNSIGNED_CODES as _array_unsigned_int_typecode_ctype_mappings
from millrace.table.values.elements import infer_row as _infer_schema
from millrace.table.values.elements import infer_schema_from_data as _infer_schema_from_data
from millrace.table.values.elements import infer_type as _infer_type
from millrace.table.values.elements import merge_type as _merge_type
from millrace.table.values.elements import type_verifier as _create_type_verifier

__all__ = [
    "DataTypes",
    "UserDefinedType",
    "Row",
    "RowKind",
    # importable in PyFlink, too
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
    "create_arrow_schema",
    "from_arrow_type",
    "to_arrow_type",
]

# Programs import these from PyFlink, private as they are there.
_PRIVATE = (
    _array_type_mappings,
    _array_signed_int_typecode_ctype_mappings,
    _array_unsigned_int_typecode_ctype_mappings,
    _create_type_verifier,
    _infer_schema,
    _infer_schema_from_data,
    _infer_type,
    _merge_type,
)


def _to_java_data_type(data_type: DataType) -> DataType:
    """A type stands for itself: there is no Java behind it."""
    return data_type


def _from_java_data_type(data_type: DataType) -> DataType:
    """The reverse of ``_to_java_data_type``."""
    return data_type
