"""The types of columns of CSV and JSON, from the beginning of a file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from millrace.formats.csv_schema import CsvDialect
from millrace.relational import types as t
from millrace.relational.from_arrow import from_arrow_type
from millrace.relational.nodes import Field
from millrace.relational.types import DataType

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
"""Not with a zero in front: that is a code and no number."""
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?")
_NAME = re.compile(r"[^\W\d][\w .-]*")


def csv_columns(text: str, dialect: CsvDialect, header: bool | None) -> tuple[list[Field], bool]:
    """The columns, and whether the first line has their names.

    :param text: whole lines.
    :param header: None: to be found out.
    """
    rows = [row for row in _rows(text, dialect) if row]
    if not rows:
        return [], bool(header)
    first, rest = rows[0], rows[1:]
    named = _is_header(first, rest, dialect) if header is None else header
    values = rest if named else rows
    names = _unique(first) if named else [f"f{number}" for number in range(len(first))]
    return [Field(name, _type(_column(values, at, dialect))) for at, name in enumerate(names)], named


def _rows(text: str, dialect: CsvDialect) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    if dialect.allow_comments:
        lines = io.StringIO("".join(line for line in lines if not line.lstrip().startswith("#")), newline="")
    return csv.reader(
        lines,
        delimiter=dialect.column_separator,
        quotechar=dialect.quote_char or '"',
        escapechar=dialect.escape_char,
        quoting=csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
    )


def _is_header(first: Sequence[str], rest: Sequence[Sequence[str]], dialect: CsvDialect) -> bool:
    """Whether the first line is made of names, and what follows does not look the same."""
    if len(set(first)) < len(first) or not all(_NAME.fullmatch(cell.strip()) for cell in first):
        return False
    if any(not isinstance(_type([cell]), t.VarCharType) for cell in first):
        return False  # true, false: values
    columns = (_type(_column(rest, at, dialect)) for at in range(len(first)))
    # Nothing but texts: names rarely come again as a value.
    return any(not isinstance(each, t.VarCharType) for each in columns) or (
        bool(rest) and all(cell not in _column(rest, at, dialect) for at, cell in enumerate(first))
    )


def _unique(names: Sequence[str]) -> list[str]:
    """Names of columns: those that are missing or come twice get a number."""
    found: list[str] = []
    for place, name in enumerate(names):
        wanted = name.strip() or f"f{place}"
        found.append(wanted if wanted not in found else f"{wanted}_{place}")
    return found


def _column(rows: Sequence[Sequence[str]], at: int, dialect: CsvDialect) -> list[str]:
    cells = (row[at].strip() for row in rows if at < len(row))
    return [cell for cell in cells if cell and cell != dialect.null_value]


def _type(cells: Sequence[str]) -> DataType:
    """The narrowest type that all cells fit in; text for none."""
    if not cells:
        return t.string()
    if all(cell.lower() in ("true", "false") for cell in cells):
        return t.BooleanType()
    if all(map(_INTEGER.fullmatch, cells)):
        return t.BigIntType()
    if all(_NUMBER.fullmatch(cell) and any(map(str.isdigit, cell)) for cell in cells):
        return t.DoubleType()
    if all(map(_DATE.fullmatch, cells)):
        return t.DateType()
    if all(map(_TIMESTAMP.fullmatch, cells)):
        digits = max(len(cell.partition(".")[2]) for cell in cells)
        return t.TimestampType(next(each for each in (3, 6, 9) if digits <= each))
    return t.string()


def json_columns(text: bytes) -> list[Field]:
    """The columns of JSON objects, one a line: all names that occur. Times are text.

    :raises ValueError: a name has values of several kinds.
    """
    import pyarrow.json

    try:
        found = pyarrow.json.read_json(io.BytesIO(text)).schema
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    return [Field(each.name, from_arrow_type(_without_times(each.type))) for each in found]


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _without_times(each.type)) for each in kind])
    return kind
