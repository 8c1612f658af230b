"""Rows as Flink prints them: a frame of +, - and |, everything on the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.types import DataType

NULL = "<NULL>"
OP = "op"
_DOTS = "..."
_FIXED: dict[type[DataType], int] = {
    t.TinyIntType: 4,
    t.SmallIntType: 6,
    t.IntType: 11,
    t.BigIntType: 20,
    t.BooleanType: 5,
    t.DateType: 10,
}


def widths_by_type(columns: Schema, most: int) -> list[int]:
    """Widths that are known before any row, in characters."""
    return [max(len(column.name), len(NULL), _width_of(column.type, most)) for column in columns]


def _width_of(data_type: DataType, most: int) -> int:
    if type(data_type) in _FIXED:
        return _FIXED[type(data_type)]
    if isinstance(data_type, t.DecimalType):
        return data_type.precision + 2
    if isinstance(data_type, t.TimeType):
        return data_type.precision + 9 if data_type.precision else 8
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return 19 + next(extra for digits, extra in ((0, 0), (3, 4), (6, 7), (9, 10)) if data_type.precision <= digits)
    return most


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
