"""The text of values in printed tables: that of CAST(... AS STRING)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.text import double_text, float_text
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of
from millrace.table.tableau import NULL

Text = Callable[[Any], str]


def row_texts(types: Sequence[DataType], zone: str) -> Callable[[Sequence[Any]], list[str]]:
    """A function that gives the cells of a row.

    :param zone: in which TIMESTAMP_LTZ is shown.
    """
    texts = [_nullable(_text(each, zone_of(zone)), NULL) for each in types]
    return lambda row: [text(value) for text, value in zip(texts, row)]


def _nullable(text: Text, null: str) -> Text:
    return lambda value: null if value is None else text(value)


def _text(data_type: DataType, zone: datetime.tzinfo) -> Text:
    if isinstance(data_type, t.BooleanType):
        return lambda value: "TRUE" if value else "FALSE"
    if isinstance(data_type, t.FloatType):
        return float_text
    if isinstance(data_type, t.DoubleType):
        return double_text
    if isinstance(data_type, t.DecimalType):
        scale = data_type.scale
        return lambda value: f"{value:.{scale}f}"
    if isinstance(data_type, (t.BinaryType, t.VarBinaryType)):
        return lambda value: f"x'{bytes(value).hex()}'"
    if isinstance(data_type, (t.TimeType, t.TimestampType, t.LocalZonedTimestampType)):
        return _time(data_type, zone)
    if isinstance(data_type, t.DayTimeIntervalType):
        return _span
    if isinstance(data_type, t.YearMonthIntervalType):
        return lambda months: f"{'-' if months < 0 else '+'}{abs(months) // 12}-{abs(months) % 12:02d}"
    return _parts(data_type, zone)


def _time(data_type: DataType, zone: datetime.tzinfo) -> Text:
    digits: int = data_type.precision  # type: ignore[attr-defined]

    def text(moment: Any) -> str:
        if isinstance(moment, datetime.datetime) and isinstance(data_type, t.LocalZonedTimestampType):
            moment = moment.astimezone(zone) if moment.tzinfo else moment
        whole = moment.replace(microsecond=0, tzinfo=None)
        shown = whole.isoformat(" ") if isinstance(whole, datetime.datetime) else whole.isoformat()
        fraction = f"{moment.microsecond:06d}".ljust(9, "0")[:digits]
        return f"{shown}.{fraction}" if digits else shown

    return text


def _span(value: datetime.timedelta) -> str:
    millis = abs(value) // datetime.timedelta(milliseconds=1)
    sign = "-" if value < datetime.timedelta(0) else "+"
    seconds, millis = divmod(millis, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{sign}{days} {hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}"


def _parts(data_type: DataType, zone: datetime.tzinfo) -> Text:
    if isinstance(data_type, t.ArrayType):
        each = _nullable(_text(data_type.element_type, zone), "NULL")
        return lambda values: f"[{', '.join(map(each, values))}]"
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        kinds = (
            (data_type.element_type, t.IntType())
            if isinstance(data_type, t.MultisetType)
            else (data_type.key_type, data_type.value_type)
        )
        key, item = (_nullable(_text(kind, zone), "NULL") for kind in kinds)
        return lambda values: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in values.items()) + "}"
    if isinstance(data_type, t.RowType):
        fields = [_nullable(_text(kind, zone), "NULL") for kind in data_type.field_types()]

        def row(value: Any) -> str:
            values = list(value) if isinstance(value, (Row, tuple, list)) else list(value.values())
            return f"({', '.join(field(each) for field, each in zip(fields, values))})"

        return row
    return str
