"""The text of values in printed tables: that of CAST(... AS STRING)."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.types import Row
from millrace.relational.type_table import ByFamily, Family, family_of, java_number, parts_of
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of
from millrace.table.values.tableau import NULL

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
    make = _TEXTS.get(family_of(data_type))
    found: Text = str if make is None else make(data_type, zone)
    return found


def _time(data_type: DataType, zone: datetime.tzinfo) -> Text:
    digits: int = data_type.precision  # type: ignore[attr-defined]
    zoned = family_of(data_type) is Family.INSTANT

    def text(moment: Any) -> str:
        if zoned and moment.tzinfo:
            moment = moment.astimezone(zone)
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


def _array(data_type: DataType, zone: datetime.tzinfo) -> Text:
    each = _nullable(_text(parts_of(data_type)[0], zone), "NULL")
    return lambda values: f"[{', '.join(map(each, values))}]"


def _map(data_type: DataType, zone: datetime.tzinfo) -> Text:
    key, item = (_nullable(_text(part, zone), "NULL") for part in parts_of(data_type))
    return lambda values: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in values.items()) + "}"


def _row(data_type: DataType, zone: datetime.tzinfo) -> Text:
    fields = [_nullable(_text(part, zone), "NULL") for part in parts_of(data_type)]

    def row(value: Any) -> str:
        values = list(value) if isinstance(value, (Row, tuple, list)) else list(value.values())
        return f"({', '.join(field(each) for field, each in zip(fields, values))})"

    return row


_TEXTS: ByFamily = {
    Family.BOOLEAN: lambda kind, zone: lambda value: "TRUE" if value else "FALSE",
    Family.APPROXIMATE: lambda kind, zone: java_number(kind),
    Family.DECIMAL: lambda kind, zone: lambda value: f"{value:.{kind.scale}f}",
    Family.BYTES: lambda kind, zone: lambda value: f"x'{bytes(value).hex()}'",
    **dict.fromkeys((Family.TIME, Family.TIMESTAMP, Family.INSTANT), _time),
    Family.SPAN: lambda kind, zone: _span,
    Family.MONTHS: lambda kind, zone: (
        lambda months: f"{'-' if months < 0 else '+'}{abs(months) // 12}-{abs(months) % 12:02d}"
    ),
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}
