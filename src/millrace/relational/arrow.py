"""How values of each data type lie in Arrow columns: one form inside of all plans."""

from __future__ import annotations

import pyarrow as pa

from millrace.relational import types as t

_PLAIN: dict[type[t.DataType], pa.DataType] = {
    t.NullType: pa.null(),
    t.BooleanType: pa.bool_(),
    t.TinyIntType: pa.int8(),
    t.SmallIntType: pa.int16(),
    t.IntType: pa.int32(),
    t.BigIntType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.CharType: pa.string(),
    t.VarCharType: pa.string(),
    t.BinaryType: pa.binary(),
    t.VarBinaryType: pa.binary(),
    t.DateType: pa.date32(),
    # Microseconds for all precisions: what Spark has. A value is cut to its precision when it is made.
    t.TimeType: pa.time64("us"),
    t.TimestampType: pa.timestamp("us"),
    t.LocalZonedTimestampType: pa.timestamp("us", "UTC"),
    t.YearMonthIntervalType: pa.int32(),
    t.DayTimeIntervalType: pa.duration("us"),
    t.RawType: pa.binary(),
    t.VariantType: pa.string(),
    t.BitmapType: pa.binary(),
}


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """The Arrow type of a column.

    :raises NotImplementedError: nothing can be computed with this type (TIMESTAMP WITH TIME ZONE).
    """
    if isinstance(data_type, t.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, (t.ArrayType, t.ListViewType)):
        return pa.list_(arrow_type(data_type.element_type))
    if isinstance(data_type, (t.MapType, t.MapViewType)):
        return pa.map_(arrow_type(data_type.key_type), arrow_type(data_type.value_type))
    if isinstance(data_type, t.MultisetType):
        return pa.map_(arrow_type(data_type.element_type), pa.int32())
    if isinstance(data_type, t.RowType):
        return pa.struct([(field.name, arrow_type(field.data_type)) for field in data_type.fields])
    if isinstance(data_type, t.UserDefinedType):
        return arrow_type(data_type.sql_type())
    found = _PLAIN.get(type(data_type))
    if found is None:
        raise NotImplementedError(f"{data_type} can be named, but not computed with: use TIMESTAMP or TIMESTAMP_LTZ")
    return found


def schema_of(columns: list[t.DataType]) -> pa.Schema:
    """The schema of a batch of rows with columns of these types, named ``c0``, ``c1``, ..."""
    return pa.schema([(f"c{index}", arrow_type(each)) for index, each in enumerate(columns)])
