"""Rows as Flink's ``Row.toString`` shows them: ``+I[1, abc, 2024-05-06T10:20:30]``."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.types import Row
from millrace.relational.type_table import ByFamily, Family, family_of, java_number, parts_of
from millrace.relational.types import DataType

Text = Callable[[Any], str]


def row_text(types: Sequence[DataType]) -> Callable[[Row], str]:
    """A function that gives the text of a row, its kind in front."""
    fields = [_nullable(_text(each)) for each in types]
    return lambda row: f"{row.get_row_kind()}[{', '.join(field(value) for field, value in zip(fields, row))}]"


def _nullable(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)


def _text(data_type: DataType) -> Text:
    make = _TEXTS.get(family_of(data_type))
    found: Text = str if make is None else make(data_type)
    return found


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


def _array(data_type: DataType) -> Text:
    each = _nullable(_text(*parts_of(data_type)))
    return lambda values: f"[{', '.join(map(each, values))}]"


def _map(data_type: DataType) -> Text:
    key, item = (_nullable(_text(part)) for part in parts_of(data_type))
    return lambda values: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in values.items()) + "}"


def _row(data_type: DataType) -> Text:
    fields = [_nullable(_text(kind)) for kind in parts_of(data_type)]
    return lambda row: f"+I[{', '.join(field(value) for field, value in zip(fields, row))}]"


def _signed_bytes(value: bytes) -> str:
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


_TEXTS: ByFamily = {
    Family.BOOLEAN: lambda kind: lambda value: "true" if value else "false",
    Family.APPROXIMATE: java_number,
    Family.BYTES: lambda kind: _signed_bytes,
    Family.INSTANT: lambda kind: lambda value: (
        f"{_moment(value.astimezone(datetime.timezone.utc), always_seconds=True)}Z"
    ),
    Family.TIMESTAMP: lambda kind: _moment,
    Family.TIME: lambda kind: _moment,
    Family.DECIMAL: lambda kind: lambda value: f"{value:.{kind.scale}f}",
    Family.SPAN: lambda kind: _duration,
    Family.MONTHS: lambda kind: _period,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}
