"""Converts data types of tables to Spark's types, and frames between the program's session and that of a query.

Values are the same as in Arrow columns (``relational.arrow``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.type_table import arrow_type
from millrace.spark.sessions.java_names import java_class
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

# Months are whole numbers: Spark's own type has no form in Arrow.
_PLAIN: dict[pa.DataType, s.DataType] = {
    pa.null(): s.NullType(),
    pa.bool_(): s.BooleanType(),
    pa.int8(): s.ByteType(),
    pa.int16(): s.ShortType(),
    pa.int32(): s.IntegerType(),
    pa.int64(): s.LongType(),
    pa.float32(): s.FloatType(),
    pa.float64(): s.DoubleType(),
    pa.string(): s.StringType(),
    pa.binary(): s.BinaryType(),
    pa.date32(): s.DateType(),
    pa.time64("us"): s.TimeType(6),
    pa.timestamp("us"): s.TimestampNTZType(),
    pa.timestamp("us", "UTC"): s.TimestampType(),
    pa.duration("us"): s.DayTimeIntervalType(),
}


def spark_type(data_type: t.DataType) -> s.DataType:
    """The type of a column.

    :raises NotImplementedError: nothing can be computed with this type.
    """
    return _of_arrow(arrow_type(data_type))


def _of_arrow(kind: pa.DataType) -> s.DataType:
    if pa.types.is_decimal(kind):
        return s.DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return s.ArrayType(_of_arrow(kind.value_type))
    if pa.types.is_map(kind):
        return s.MapType(_of_arrow(kind.key_type), _of_arrow(kind.item_type))
    if pa.types.is_struct(kind):
        return s.StructType([s.StructField(field.name, _of_arrow(field.type)) for field in kind])
    return _PLAIN[kind]


def spark_schema(types: Iterable[t.DataType]) -> s.StructType:
    """The schema of a frame with columns c0, c1, ... of these types."""
    return numbered_schema(map(spark_type, types))


def numbered_schema(types: Iterable[s.DataType]) -> s.StructType:
    """The schema of a frame with columns c0, c1, ... of these types of Spark."""
    return s.StructType([s.StructField(f"c{index}", each) for index, each in enumerate(types)])


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


def cast_text(text: str, found: t.DataType | None, wanted: t.DataType) -> str:
    """A text as a value of a type; Spark drops a cast that changes nothing.

    :param found: the type that it has, if that is known.
    """
    kind = spark_type(wanted)
    if isinstance(kind, s.NullType) or (found is not None and spark_type(found) == kind):
        return text
    return f"CAST({text} AS {ddl(kind)})"


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


def outgoing(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch as Spark takes it from a task: with times in nanoseconds."""
    fields = [pa.field(field.name, _outgoing_type(field.type)) for field in batch.schema]
    return batch if all(a.type == b.type for a, b in zip(fields, batch.schema)) else batch.cast(pa.schema(fields))


def _outgoing_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_time(kind):
        return pa.time64("ns")
    if pa.types.is_list(kind):
        return pa.list_(_outgoing_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_outgoing_type(kind.key_type), _outgoing_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _outgoing_type(field.type)) for field in kind])
    return kind


def as_internal(column: pa.Array, data_type: t.DataType) -> pa.Array:
    """Cast a column that came from Spark to our Arrow type: Spark counts times in nanoseconds, and gives instants the
    session's zone."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    wanted = arrow_type(data_type)
    return column if column.type == wanted else column.cast(wanted)


_WIDTHS: list[type[s.DataType]] = [s.ByteType, s.ShortType, s.IntegerType, s.LongType]
_TEXTS = (s.StringType, s.CharType, s.VarcharType)


def adopted(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Move a frame to another session: what is computed from it there follows that session's settings."""
    if frame.sparkSession is session:
        return frame
    jvm: Any = session._jvm
    plan = frame._jdf.queryExecution().analyzed()
    made = java_class(jvm, "org.apache.spark.sql.classic.Dataset").ofRows(session._jsparkSession, plan)
    return DataFrame(made, session)


def checked(frame: DataFrame, columns: Schema, table: str) -> DataFrame:
    """The frame, if it has these columns in types that fit into theirs without loss.

    :raises TableException: a column is missing, or has another type.
    """
    found = {field.name: field.dataType for field in frame.schema.fields}
    for column in columns:
        if column.name not in found:
            raise TableException(
                f"table {table}: the data source has no column '{column.name}'{did_you_mean(column.name, found)}; it "
                f"has {', '.join(found)}"
            )
        kind = found[column.name]
        if not _fits(kind, spark_type(column.type)):
            raise TableException(
                f"table {table}: column '{column.name}' is {kind.simpleString()} in the data source, which does not "
                f"fit into {column.type}: declare its type, and CAST it in the query"
            )
    return frame


def _fits(found: s.DataType, wanted: s.DataType) -> bool:
    if same_type(found, wanted):
        return True
    if type(found) in _WIDTHS and type(wanted) in _WIDTHS:
        return _WIDTHS.index(type(found)) <= _WIDTHS.index(type(wanted))
    if isinstance(found, s.DecimalType) and isinstance(wanted, s.DecimalType):
        return bool(found.scale <= wanted.scale and found.precision - found.scale <= wanted.precision - wanted.scale)
    if isinstance(found, s.FloatType):
        return isinstance(wanted, s.DoubleType)
    return isinstance(found, _TEXTS) and isinstance(wanted, _TEXTS)
