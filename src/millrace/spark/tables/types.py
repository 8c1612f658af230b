"""Data types of tables as types of Spark: the same values as in Arrow columns (``relational.arrow``)."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import types as s

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type

_PLAIN: dict[type[t.DataType], s.DataType] = {
    t.NullType: s.NullType(),
    t.BooleanType: s.BooleanType(),
    t.TinyIntType: s.ByteType(),
    t.SmallIntType: s.ShortType(),
    t.IntType: s.IntegerType(),
    t.BigIntType: s.LongType(),
    t.FloatType: s.FloatType(),
    t.DoubleType: s.DoubleType(),
    t.CharType: s.StringType(),
    t.VarCharType: s.StringType(),
    t.BinaryType: s.BinaryType(),
    t.VarBinaryType: s.BinaryType(),
    t.DateType: s.DateType(),
    t.TimeType: s.TimeType(6),
    t.TimestampType: s.TimestampNTZType(),
    t.LocalZonedTimestampType: s.TimestampType(),
    # Months. Spark's own type has no form in Arrow.
    t.YearMonthIntervalType: s.IntegerType(),
    t.DayTimeIntervalType: s.DayTimeIntervalType(),
    t.RawType: s.BinaryType(),
    t.VariantType: s.StringType(),
    t.BitmapType: s.BinaryType(),
}


def spark_type(data_type: t.DataType) -> s.DataType:
    """The type of a column.

    :raises NotImplementedError: nothing can be computed with this type.
    """
    if isinstance(data_type, t.DecimalType):
        return s.DecimalType(data_type.precision, data_type.scale)
    if isinstance(data_type, (t.ArrayType, t.ListViewType)):
        return s.ArrayType(spark_type(data_type.element_type))
    if isinstance(data_type, (t.MapType, t.MapViewType)):
        return s.MapType(spark_type(data_type.key_type), spark_type(data_type.value_type))
    if isinstance(data_type, t.MultisetType):
        return s.MapType(spark_type(data_type.element_type), s.IntegerType())
    if isinstance(data_type, t.RowType):
        return s.StructType([s.StructField(field.name, spark_type(field.data_type)) for field in data_type.fields])
    if isinstance(data_type, t.UserDefinedType):
        return spark_type(data_type.sql_type())
    found = _PLAIN.get(type(data_type))
    if found is None:
        raise NotImplementedError(f"{data_type} can be named, but not computed with: use TIMESTAMP or TIMESTAMP_LTZ")
    return found


def spark_schema(types: Iterable[t.DataType]) -> s.StructType:
    """The schema of a frame with columns c0, c1, ... of these types."""
    return s.StructType([s.StructField(f"c{index}", spark_type(each)) for index, each in enumerate(types)])


def ddl(spark: s.DataType) -> str:
    """The type in SQL text, with the names of fields quoted."""
    if isinstance(spark, s.ArrayType):
        return f"ARRAY<{ddl(spark.elementType)}>"
    if isinstance(spark, s.MapType):
        return f"MAP<{ddl(spark.keyType)}, {ddl(spark.valueType)}>"
    if isinstance(spark, s.StructType):
        return f"STRUCT<{', '.join(f'{quoted(field.name)}: {ddl(field.dataType)}' for field in spark.fields)}>"
    if isinstance(spark, s.TimestampType):
        return "TIMESTAMP_LTZ"  # plain TIMESTAMP is what the session says
    return str(spark.simpleString()).upper()


def quoted(name: str) -> str:
    """An identifier in backticks."""
    return "`" + name.replace("`", "``") + "`"


def same_type(left: s.DataType, right: s.DataType) -> bool:
    """Equal in everything but what may be NULL."""
    if type(left) is not type(right):
        return False
    if isinstance(left, s.ArrayType):
        return same_type(left.elementType, right.elementType)
    if isinstance(left, s.MapType):
        keys = same_type(left.keyType, right.keyType)
        return keys and same_type(left.valueType, right.valueType)
    if isinstance(left, s.StructType):
        others: list[s.StructField] = right.fields
        return len(left.fields) == len(others) and all(
            a.name == b.name and same_type(a.dataType, b.dataType) for a, b in zip(left.fields, others)
        )
    return bool(left == right)


def as_internal(column: pa.Array, data_type: t.DataType) -> pa.Array:
    """A column that came from Spark in the Arrow type that we use: Spark counts times in nanoseconds, and gives
    instants the zone of the session."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    wanted = arrow_type(data_type)
    return column if column.type == wanted else column.cast(wanted)
