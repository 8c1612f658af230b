"""Plans as Spark SQL text: exact constants, bound expressions, points in time, aggregate calls.

Points in time are microseconds of local time, so that windows begin at local midnight. An aggregate call is one text
where Spark computes the same, else a list of the arguments of all rows, of which Python makes a value.
"""

from __future__ import annotations

import datetime
import decimal
import math
from dataclasses import replace
from itertools import islice
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import Texts, find_aggregate
from millrace.relational.functions.registry import find_scalar
from millrace.relational.rex import AggCall, Call, FieldAccess, Literal, Ref, Rex, walk
from millrace.relational.type_table import ByFamily, Family, parts_of, row_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow_scalar, to_internal
from millrace.spark.tables.steps.spark_types import ddl, quoted, spark_type

# Constants

_SUFFIX = {8: "Y", 16: "S", 32: "", 64: "L"}


def literal_text(value: Any, data_type: t.DataType) -> str:
    """A value in the Python form of its type as an expression of exactly that type."""
    return internal_text(to_internal(value, data_type), data_type)


def internal_text(value: Any, data_type: t.DataType) -> str:
    """A value in the form that Arrow takes (fields of rows by name, maps as pairs) as an SQL expression of exactly that
    type."""
    row = row_of(data_type)
    if row.family is Family.USER:
        return internal_text(value, *row.parts(data_type))
    if value is None:
        return _cast_literal("NULL", data_type)
    return str(_TEXTS[row.family](value, data_type))


def _cast_literal(text: str, data_type: t.DataType) -> str:
    return f"CAST({text} AS {ddl(spark_type(data_type))})"


def _array(value: Any, data_type: t.DataType) -> str:
    (element,) = parts_of(data_type)
    return _cast_literal(f"array({', '.join(internal_text(each, element) for each in value)})", data_type)


def _row(value: Any, data_type: t.RowType) -> str:
    parts = [
        f"{string_text(field.name)}, {internal_text(value[field.name], field.data_type)}" for field in data_type.fields
    ]
    return _cast_literal(f"named_struct({', '.join(parts)})", data_type)


def _map(value: Any, data_type: t.DataType) -> str:
    kinds = parts_of(data_type)
    texts = (internal_text(part, kind) for pair in value for part, kind in zip(pair, kinds))
    return _cast_literal(f"map({', '.join(texts)})", data_type)


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
    Family.DECIMAL: lambda value, kind: _cast_literal(f"'{format(decimal.Decimal(value), 'f')}'", kind),
    Family.APPROXIMATE: lambda value, kind: _cast_literal(f"'{_java_number(float(value))}'", kind),
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


# Expressions

MOST_PARTS = 2_000
"""The most parts of an expression; Spark takes minutes to read much larger ones."""


def spark_text(expression: Rex) -> str | None:
    """The expression over columns c0, c1, ...; None if Spark does not compute a part of it as Flink does, or if it
    has too many parts to be read by Spark."""
    if sum(1 for _ in islice(walk(expression), MOST_PARTS + 1)) > MOST_PARTS:
        return None
    return _text(expression)


def _text(expression: Rex) -> str | None:
    if isinstance(expression, Ref):
        return f"c{expression.index}"
    if isinstance(expression, Literal):
        return literal_text(expression.value, expression.type)
    if isinstance(expression, FieldAccess):
        row = _text(expression.row)
        return None if row is None else field_text(row, expression.name)
    if isinstance(expression, Call):
        return _call(expression)
    return None


def _call(expression: Call) -> str | None:
    function = find_scalar(expression.function)
    if function is None or function.spark is None:
        return None
    args = [_text(arg) for arg in expression.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    text = function.spark(expression, known)
    return None if text is None else f"({text})"


# Points in time

DATE_TIME = (t.TimestampType, t.LocalZonedTimestampType)


def micros(text: str, data_type: DataType, reads_local_times: bool) -> str:
    """Microseconds from 1970 on the local clock.

    :param reads_local_times: whether ``unix_micros`` of Spark takes a TIMESTAMP_NTZ as it is. It is a number already;
        where the function would make an instant of it first, the hour that summer time skips would be another one, and
        only the calendar tells them apart.
    """
    local = local_time(text) if isinstance(data_type, t.LocalZonedTimestampType) else text
    if reads_local_times:
        return f"unix_micros({local})"
    seconds = f"unix_date(CAST({local} AS DATE)) * 86400L + hour({local}) * 3600L + minute({local}) * 60L"
    return f"(({seconds}) * 1000000L + CAST(extract(SECOND FROM {local}) * 1000000 AS BIGINT))"


def from_micros(text: str) -> str:
    """The TIMESTAMP that is so many microseconds from 1970 on the local clock."""
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + ({text}) * INTERVAL '0.000001' SECOND)"


def local_time(text: str) -> str:
    """A TIMESTAMP_LTZ as the session's clock shows it."""
    return f"CAST({text} AS TIMESTAMP_NTZ)"


def zoned(text: str) -> str:
    """A TIMESTAMP of the session's clock as the instant that it means."""
    return f"CAST({text} AS TIMESTAMP_LTZ)"


def near(start: str, end: str, data_type: DataType, lower: int, upper: int) -> str:
    """Whether the time from one point to another of the same type is in these bounds (ms)."""
    if isinstance(data_type, t.LocalZonedTimestampType):
        # Their difference would be that of the local clock.
        return f"unix_micros({end}) - unix_micros({start}) BETWEEN {lower * 1000}L AND {upper * 1000}L"
    return f"{end} - {start} BETWEEN {interval_text(_millis(lower))} AND {interval_text(_millis(upper))}"


def _millis(value: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=value)


# Aggregates

GROUPING = ("GROUPING", "GROUPING_ID")
"""functions that say which columns belong to the grouping set of a row"""
RANKING = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LEAD", "LAG")
"""functions whose value depends on a row's position in an OVER window, and that have no frame"""


def native_text(call: AggCall, texts: Texts) -> str | None:
    """The call as Spark computes it; None if Python must."""
    if call.udf is not None or call.order or (call.distinct and texts.over):
        return None
    if call.function in RANKING:
        return _cast_argument(f"{call.function.lower()}({', '.join(texts.args)}){texts.over}", call)
    described = find_aggregate(call.function)
    if described is None or described.spark is None:
        return None
    text = described.spark(call, replace(texts, distinct=call.distinct))
    return None if text is None else _cast_argument(text, call)


def constant_offset(call: AggCall) -> bool:
    """Whether Spark computes a call if it is a LAG or LEAD: it takes only constants for offset and default."""
    return call.function not in ("LAG", "LEAD") or all(isinstance(arg, Literal) for arg in call.args[1:])


def shifted_text(call: AggCall, texts: Texts, window: str) -> str:
    """LAG and LEAD by as many rows as the row itself says; NULL by NULL rows.

    :param window: PARTITION BY and ORDER BY.
    """
    value, offset, *default = texts.args
    whole = f" OVER ({window}ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    rows = f"collect_list(named_struct('value', {value})){whole}"
    place = f"(row_number() OVER ({window}) {'-' if call.function == 'LAG' else '+'} {offset})"
    found = f"element_at({rows}, CAST({place} AS INT)).value"
    missing = default[0] if default else "NULL"
    exists = f"{place} BETWEEN 1 AND count(1){whole}"
    return _cast_argument(f"CASE WHEN {offset} IS NULL THEN NULL WHEN {exists} THEN {found} ELSE {missing} END", call)


def collected_text(call: AggCall, texts: Texts) -> str:
    """All rows of the group as a list of rows of the arguments and then the order keys."""
    parts = [f"'a{index}', {text}" for index, text in enumerate((*texts.args, *texts.order))]
    return texts.rows(f"named_struct({', '.join(parts) or _NO_ARGUMENT})")


_NO_ARGUMENT = "'none', 1"


def _cast_argument(text: str, call: AggCall) -> str:
    return f"CAST({text} AS {ddl(spark_type(call.type))})"


def grouping_text(call: AggCall, grouped: bool) -> str:
    """GROUPING(a, b) and GROUPING_ID(a, b) as a number of one bit a column, set where the column is not in the row's
    grouping set.

    :param grouped: whether there are grouping sets at all.
    """
    if not grouped:
        return _cast_argument("0", call)
    columns = [f"c{arg.index}" for arg in call.args]  # type: ignore[attr-defined]
    bits = [
        f"shiftleft(CAST(grouping({column}) AS BIGINT), {len(columns) - place})"
        for place, column in enumerate(columns, 1)
    ]
    return _cast_argument(" + ".join(bits) or "0", call)
