"""Frames of the program's own session in the session that a query runs in, and the other way round."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from millrace.relational.nodes import Schema
from millrace.spark.tables.texts.types import same_type, spark_type
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

_WIDTHS: list[type[s.DataType]] = [s.ByteType, s.ShortType, s.IntegerType, s.LongType]
_TEXTS = (s.StringType, s.CharType, s.VarcharType)


def adopted(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same rows in another session: what is computed on them there follows that session's settings."""
    if frame.sparkSession is session:
        return frame
    jvm: Any = session._jvm
    plan = frame._jdf.queryExecution().analyzed()
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
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
