"""Rows as Flink prints them: a frame of +, - and |, everything on the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.type_table import ByFamily, Family, TypeRow, row_of
from millrace.relational.types import DataType

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
