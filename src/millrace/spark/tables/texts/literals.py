"""Constants as Spark SQL text, exactly."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

from millrace.relational import types as t
from millrace.relational.type_table import ByFamily, Family, parts_of, row_of
from millrace.relational.values import to_arrow_scalar, to_internal
from millrace.spark.tables.texts.types import ddl, quoted, spark_type

_SUFFIX = {8: "Y", 16: "S", 32: "", 64: "L"}


def literal_text(value: Any, data_type: t.DataType) -> str:
    """A value in the Python form of its type as an expression of exactly that type."""
    return internal_text(to_internal(value, data_type), data_type)


def internal_text(value: Any, data_type: t.DataType) -> str:
    """The same for a value in the form that Arrow takes (fields of rows by name, maps as pairs)."""
    row = row_of(data_type)
    if row.family is Family.USER:
        return internal_text(value, *row.parts(data_type))
    if value is None:
        return _cast("NULL", data_type)
    return str(_TEXTS[row.family](value, data_type))


def _cast(text: str, data_type: t.DataType) -> str:
    return f"CAST({text} AS {ddl(spark_type(data_type))})"


def _array(value: Any, data_type: t.DataType) -> str:
    (element,) = parts_of(data_type)
    return _cast(f"array({', '.join(internal_text(each, element) for each in value)})", data_type)


def _row(value: Any, data_type: t.RowType) -> str:
    parts = [
        f"{string_text(field.name)}, {internal_text(value[field.name], field.data_type)}" for field in data_type.fields
    ]
    return _cast(f"named_struct({', '.join(parts)})", data_type)


def _map(value: Any, data_type: t.DataType) -> str:
    kinds = parts_of(data_type)
    texts = (internal_text(part, kind) for pair in value for part, kind in zip(pair, kinds))
    return _cast(f"map({', '.join(texts)})", data_type)


def _bytes(value: Any, data_type: t.DataType) -> str:
    return f"X'{bytes(value).hex()}'"


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


_TEXTS: ByFamily = {
    Family.BOOLEAN: lambda value, kind: "TRUE" if value else "FALSE",
    Family.INTEGER: lambda value, kind: _signed(f"{value}{_SUFFIX[kind.bits]}"),
    Family.DECIMAL: lambda value, kind: _cast(f"'{format(decimal.Decimal(value), 'f')}'", kind),
    Family.APPROXIMATE: lambda value, kind: _cast(f"'{_java_number(float(value))}'", kind),
    **dict.fromkeys((Family.TEXT, Family.VARIANT), lambda value, kind: string_text(str(value))),
    Family.DATE: lambda value, kind: f"DATE '{value.isoformat()}'",
    Family.TIME: lambda value, kind: f"CAST(TIME '{value.isoformat()}' AS TIME(6))",
    Family.TIMESTAMP: lambda value, kind: f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'",
    Family.INSTANT: lambda value, kind: f"timestamp_micros({_signed(f'{to_arrow_scalar(value, kind).value}L')})",
    Family.MONTHS: lambda value, kind: _signed(str(value)),
    Family.SPAN: lambda value, kind: interval_text(value),
    **dict.fromkeys((Family.BYTES, Family.RAW, Family.BITMAP), _bytes),
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}
