"""Rows as the print connector shows them: ``+I[1, a, 2026-05-01T12:30]``, with each value as its Java counterpart."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.text import double_text, float_text, formatter
from millrace.common.time import Instant
from millrace.common.typeinfo import LocalTimeTypeInfo, Types
from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.relational.values import to_python

Text = Callable[[Any], str]

_KINDS = [str(kind) for kind in RowKind]
_LOCAL = LocalTimeTypeInfo.TimeType
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def row_texts(rows: Rows, types: Sequence[DataType]) -> list[str]:
    """One text a row."""
    columns = [map(text_of(each), to_python(column, each)) for column, each in zip(rows.columns, types)]
    parts = map(", ".join, zip(*columns)) if columns else [""] * len(rows)
    return [f"{_KINDS[kind]}[{text}]" for kind, text in zip(rows.kind_values().tolist(), parts)]


def text_of(data_type: DataType) -> Text:
    """The text of values of a type."""
    text = _text(data_type)
    return lambda value: "null" if value is None else text(value)


def _text(data_type: DataType) -> Text:
    if isinstance(data_type, t.RowType):
        return _row([text_of(each) for each in data_type.field_types()])
    if isinstance(data_type, (t.ArrayType, t.ListViewType)):
        return _list(text_of(data_type.element_type))
    if isinstance(data_type, t.MultisetType):
        return _map(text_of(data_type.element_type), str)
    if isinstance(data_type, (t.MapType, t.MapViewType)):
        return _map(text_of(data_type.key_type), text_of(data_type.value_type))
    if isinstance(data_type, t.DecimalType):
        return lambda value: f"{value:.{data_type.scale}f}"
    if isinstance(data_type, t.YearMonthIntervalType):
        return _period
    return _SIMPLE.get(type(data_type), str)


def _row(fields: Sequence[Text]) -> Text:
    return lambda row: f"+I[{', '.join([field(value) for field, value in zip(fields, row)])}]"


def _list(each: Text) -> Text:
    return lambda values: f"[{', '.join(map(each, values))}]"


def _map(key: Text, item: Text) -> Text:
    return lambda entries: f"{{{', '.join(f'{key(k)}={item(v)}' for k, v in entries.items())}}}"


def _instant(moment: datetime.datetime) -> str:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    seconds, rest = divmod(moment - _EPOCH, datetime.timedelta(seconds=1))
    return formatter(Types.INSTANT())(Instant(seconds, rest.microseconds * 1000))


def _duration(span: datetime.timedelta) -> str:
    """As ``java.time.Duration`` shows it: ``PT25H3M4.5S``."""
    micros = span // datetime.timedelta(microseconds=1)
    if not micros:
        return "PT0S"
    sign = "-" if micros < 0 else ""
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{sign}{hours}H" if hours else ""
    text += f"{sign}{minutes}M" if minutes else ""
    if seconds or fraction:
        digits = f".{fraction:06d}".rstrip("0") if fraction else ""
        text += f"{sign}{seconds}{digits}S"
    return f"PT{text}"


def _period(months: int) -> str:
    """As ``java.time.Period`` shows it: ``P1Y2M``."""
    years, rest = divmod(abs(months), 12)
    sign = "-" if months < 0 else ""
    text = (f"{sign}{years}Y" if years else "") + (f"{sign}{rest}M" if rest else "")
    return f"P{text}" if text else "P0D"


_bytes = formatter(Types.PRIMITIVE_ARRAY(Types.BYTE()))
_local = formatter(LocalTimeTypeInfo(_LOCAL.LOCAL_DATE_TIME))

_SIMPLE: dict[type[DataType], Text] = {
    t.BooleanType: lambda value: "true" if value else "false",
    t.FloatType: float_text,
    t.DoubleType: double_text,
    t.BinaryType: _bytes,
    t.VarBinaryType: _bytes,
    t.TimeType: _local,
    t.TimestampType: _local,
    t.LocalZonedTimestampType: _instant,
    t.DayTimeIntervalType: _duration,
}
