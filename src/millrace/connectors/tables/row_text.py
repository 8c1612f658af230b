"""Rows as Flink's ``Row.toString`` shows them: ``+I[1, abc, 2024-05-06T10:20:30]``."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.text import double_text, float_text
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.types import DataType

Text = Callable[[Any], str]


def row_text(types: Sequence[DataType]) -> Callable[[Row], str]:
    """A function that gives the text of a row, its kind in front."""
    fields = [_nullable(_text(each)) for each in types]
    return lambda row: f"{row.get_row_kind()}[{', '.join(field(value) for field, value in zip(fields, row))}]"


def _nullable(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)


def _text(data_type: DataType) -> Text:
    if isinstance(data_type, t.BooleanType):
        return lambda value: "true" if value else "false"
    if isinstance(data_type, t.FloatType):
        return float_text
    if isinstance(data_type, t.DoubleType):
        return double_text
    if isinstance(data_type, (t.BinaryType, t.VarBinaryType)):
        return lambda value: f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"
    if isinstance(data_type, t.LocalZonedTimestampType):
        return lambda value: f"{_moment(value.astimezone(datetime.timezone.utc), always_seconds=True)}Z"
    if isinstance(data_type, (t.TimestampType, t.TimeType)):
        return _moment
    if isinstance(data_type, t.DecimalType):
        return lambda value: f"{value:.{data_type.scale}f}"
    if isinstance(data_type, t.DayTimeIntervalType):
        return _duration
    if isinstance(data_type, t.YearMonthIntervalType):
        return _period
    return _parts(data_type)


def _moment(value: Any, always_seconds: bool = False) -> str:
    """Java's form of a time: no seconds if they are 0, and fractions of three or six digits."""
    whole: str = value.replace(microsecond=0, tzinfo=None).isoformat()
    micros = value.microsecond
    if micros:
        return f"{whole}.{micros // 1000:03d}" if micros % 1000 == 0 else f"{whole}.{micros:06d}"
    return whole if value.second or always_seconds else whole[:-3]


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


def _parts(data_type: DataType) -> Text:
    if isinstance(data_type, (t.ArrayType, t.ListViewType)):
        each = _nullable(_text(data_type.element_type))
        return lambda values: f"[{', '.join(map(each, values))}]"
    if isinstance(data_type, (t.MapType, t.MapViewType, t.MultisetType)):
        multiset = isinstance(data_type, t.MultisetType)
        key = _nullable(_text(data_type.element_type if multiset else data_type.key_type))  # type: ignore[union-attr]
        item = str if multiset else _nullable(_text(data_type.value_type))  # type: ignore[union-attr]
        return lambda values: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in values.items()) + "}"
    if isinstance(data_type, t.RowType):
        fields = [_nullable(_text(kind)) for kind in data_type.field_types()]
        return lambda row: f"+I[{', '.join(field(value) for field, value in zip(fields, row))}]"
    return str
