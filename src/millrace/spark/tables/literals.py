"""Constants as Spark SQL text, exactly."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

from millrace.relational import types as t
from millrace.relational.values import to_arrow_scalar, to_internal
from millrace.spark.tables.types import ddl, quoted, spark_type

_SUFFIX = {t.TinyIntType: "Y", t.SmallIntType: "S", t.IntType: "", t.BigIntType: "L"}


def literal_text(value: Any, data_type: t.DataType) -> str:
    """A value in the Python form of its type as an expression of exactly that type."""
    return internal_text(to_internal(value, data_type), data_type)


def internal_text(value: Any, data_type: t.DataType) -> str:
    """The same for a value in the form that Arrow takes (fields of rows by name, maps as pairs)."""
    if isinstance(data_type, t.UserDefinedType):
        return internal_text(value, data_type.sql_type())
    if value is None:
        return f"CAST(NULL AS {ddl(spark_type(data_type))})"
    if isinstance(data_type, t.IntegralType):
        return _signed(f"{value}{_SUFFIX[type(data_type)]}")
    if isinstance(data_type, (t.ArrayType, t.MapType, t.MultisetType, t.RowType)):
        return f"CAST({_nested(value, data_type)} AS {ddl(spark_type(data_type))})"
    return _atomic(value, data_type)


def _atomic(value: Any, data_type: t.DataType) -> str:
    if isinstance(data_type, t.BooleanType):
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, t.DecimalType):
        return f"CAST('{format(decimal.Decimal(value), 'f')}' AS {ddl(spark_type(data_type))})"
    if isinstance(data_type, (t.FloatType, t.DoubleType)):
        return f"CAST('{_java_number(float(value))}' AS {ddl(spark_type(data_type))})"
    if isinstance(data_type, (t.CharType, t.VarCharType, t.VariantType)):
        return string_text(str(value))
    if isinstance(data_type, t.DateType):
        return f"DATE '{value.isoformat()}'"
    if isinstance(data_type, t.TimeType):
        return f"CAST(TIME '{value.isoformat()}' AS TIME(6))"
    if isinstance(data_type, t.TimestampType):
        return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
    if isinstance(data_type, t.LocalZonedTimestampType):
        return f"timestamp_micros({_signed(f'{to_arrow_scalar(value, data_type).value}L')})"
    if isinstance(data_type, t.YearMonthIntervalType):
        return _signed(str(value))
    if isinstance(data_type, t.DayTimeIntervalType):
        return interval_text(value)
    return f"X'{bytes(value).hex()}'"


def _nested(value: Any, data_type: t.DataType) -> str:
    if isinstance(data_type, t.ArrayType):
        return f"array({', '.join(internal_text(each, data_type.element_type) for each in value)})"
    if isinstance(data_type, t.RowType):
        parts = [
            f"{string_text(field.name)}, {internal_text(value[field.name], field.data_type)}"
            for field in data_type.fields
        ]
        return f"named_struct({', '.join(parts)})"
    if isinstance(data_type, t.MultisetType):
        kinds: tuple[t.DataType, t.DataType] = (data_type.element_type, t.IntType())
    else:
        assert isinstance(data_type, t.MapType)
        kinds = (data_type.key_type, data_type.value_type)
    return f"map({', '.join(internal_text(part, kind) for pair in value for part, kind in zip(pair, kinds))})"


def string_text(value: str) -> str:
    """A text in quotes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return f"'{escaped}'"


def field_text(row: str, name: str) -> str:
    """A field of a row value."""
    return f"({row}).{quoted(name)}"


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _java_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def interval_text(value: datetime.timedelta) -> str:
    """A span of time."""
    seconds, micros = divmod(abs(value) // datetime.timedelta(microseconds=1), 1_000_000)
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, last = divmod(rest, 60)
    sign = "-" if value < datetime.timedelta(0) else ""
    return f"INTERVAL '{sign}{days} {hours:02d}:{minutes:02d}:{last:02d}.{micros:06d}' DAY TO SECOND"
