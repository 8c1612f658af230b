"""Lines of CSV split into fields by the standard library's csv module, with the escapes that Java's library knows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

from millrace.formats.csv_schema import CsvDialect

_MAX_FIELD = 1 << 27
"""characters; Python's own limit, which is one of the process, is 131,072"""
_SPELLED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
"""what letters mean behind the escape character; any other character means itself"""


class RecordSplitter:
    """Splits lines of one dialect into records."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._escape = dialect.escape_char
        self._options = reader_options(dialect)

    def split(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The fields of records; lines are taken only as they are needed.

        The iterator raises ``csv.Error`` for a malformed record, and goes on behind it.
        """
        return csv.reader(lines if self._escape is None else _respelled(lines, self._escape), **self._options)


def reader_options(dialect: CsvDialect) -> dict[str, Any]:
    """The arguments of ``csv.reader``, whose fields may be long from now on."""
    if csv.field_size_limit() < _MAX_FIELD:
        csv.field_size_limit(_MAX_FIELD)
    return {
        "delimiter": dialect.column_separator,
        "quotechar": dialect.quote_char,
        "quoting": csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
        "escapechar": dialect.escape_char,
        "strict": True,
    }


def _respelled(lines: Iterable[str], escape: str) -> Iterator[str]:
    r"""Lines with the character itself behind the escape character, where a letter stands for it: \n."""
    escaped = re.compile(f"{re.escape(escape)}(.)", re.DOTALL).sub
    for line in lines:
        yield escaped(lambda found: escape + _SPELLED.get(found[1], found[1]), line) if escape in line else line


def fitted(record: list[str], width: int, *, lenient: bool = False) -> list[str | None]:
    """The fields of a record as many as there are columns. An empty field behind the last one is none.

    :param lenient: fields that are missing are None.
    :raises ValueError: there are too many, or too few.
    """
    count = len(record)
    if count == width:
        return [*record]
    if count == width + 1 and not record[-1]:
        return [*record[:width]]
    if count < width and lenient:
        return [*record, *[None] * (width - count)]
    raise ValueError(f"{width} fields expected, but there are {count}")
