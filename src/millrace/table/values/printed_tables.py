"""Prints rows as Flink does: the text of a value is that of CAST(... AS STRING), right-aligned in a frame of ``+``,
``-`` and ``|``."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.time_zones import zone_of
from millrace.relational.type_table import ByFamily, Family, TypeRow, family_of, java_number, parts_of, row_of
from millrace.relational.types import DataType

# Values

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


# Frames

NULL = "<NULL>"
OP = "op"
_DOTS = "..."
_FRACTIONS = ((0, 0), (3, 4), (6, 7), (9, 10))
"""digits after the second, and how much wider they make a timestamp"""


def widths_by_type(columns: Schema, most: int) -> list[int]:
    """Widths that are known before any row, in characters."""
    return [max(len(column.name), len(NULL), _width_of(column.type, most)) for column in columns]


def _width_of(data_type: DataType, most: int) -> int:
    row = row_of(data_type)
    width = _WIDTHS.get(row.family)
    return most if width is None else width(data_type, row)


def widths_by_content(names: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> list[int]:
    """Widths that all rows fit into, up to ``most``."""
    widths = [len(name) for name in names]
    for row in rows:
        widths = [max(width, display_width(cell)) for width, cell in zip(widths, row)]
    return widths if most is None else [min(width, most) for width in widths]


def lines(names: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """The lines of a table, one after the other as rows come; ``Empty set`` without rows."""
    count = 0
    for row in rows:
        if count == 0:
            yield from header(names, widths)
        yield line(row, widths)
        count += 1
    if count == 0:
        yield "Empty set"
        return
    yield border(widths)
    yield f"{count} {'rows' if count > 1 else 'row'} in set"


def header(names: Sequence[str], widths: Sequence[int]) -> tuple[str, str, str]:
    """The lines above the rows."""
    return border(widths), line(names, widths), border(widths)


def border(widths: Sequence[int]) -> str:
    return "+" + "".join("-" * (width + 2) + "+" for width in widths)


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One row; what is too wide ends in dots."""
    return "|" + "".join(f" {_fitted(cell, width)} |" for cell, width in zip(cells, widths))


def _fitted(cell: str, width: int) -> str:
    missing = width - display_width(cell)
    if missing >= 0:
        return " " * missing + cell
    room = width - len(_DOTS)
    kept, used = "", 0
    for char in cell:
        used += _width(char)
        if used > room:
            break
        kept += char
    return " " * (room - display_width(kept)) + kept + _DOTS


def display_width(text: str) -> int:
    """Columns of a terminal: Chinese characters take two."""
    return sum(map(_width, text))


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _timestamp_width(kind: t.TimestampType, row: TypeRow) -> int:
    return 19 + next(extra for digits, extra in _FRACTIONS if kind.precision <= digits)


_WIDTHS: ByFamily = {
    Family.BOOLEAN: lambda kind, row: 5,
    Family.INTEGER: lambda kind, row: row.digits + 1,  # and a sign
    Family.DECIMAL: lambda kind, row: kind.precision + 2,
    Family.DATE: lambda kind, row: 10,
    Family.TIME: lambda kind, row: kind.precision + 9 if kind.precision else 8,
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), _timestamp_width),
}
