"""Rows as CSV lines, by the standard library's csv module."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from millrace.formats.csv_schema import CsvDialect, CsvSchema
from millrace.formats.csv_values import field_formatter

__all__ = ["CsvText", "reader_options"]


def reader_options(dialect: CsvDialect) -> dict[str, Any]:
    """The arguments of ``csv.reader``."""
    return {
        "delimiter": dialect.column_separator,
        "quotechar": dialect.quote_char,
        "quoting": csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
        "escapechar": dialect.escape_char,
        "strict": True,
    }


class CsvText:
    """Formats rows by a schema."""

    def __init__(self, schema: CsvSchema) -> None:
        self._names = schema.names
        self._formatters = [field_formatter(column, schema.dialect) for column in schema.columns]
        # Python before 3.13 quotes a line end in a field only if it is part of the line terminator.
        self._options = {**reader_options(schema.dialect), "lineterminator": "\r\n"}
        self._line_separator = schema.dialect.line_separator

    def lines(self, rows: Iterable[Sequence[Any]]) -> str:
        """The lines of rows given as sequences of values, each with the line separator at its end."""
        formatters = self._formatters
        return self._join([[f(value) for f, value in zip(formatters, row, strict=True)] for row in rows])

    def header(self) -> str:
        return self._join([self._names])

    def _join(self, records: list[list[str]]) -> str:
        lines: list[str] = []
        csv.writer(_Lines(lines), **self._options).writerows(records)
        return "".join([line[:-2] + self._line_separator for line in lines])


class _Lines:
    """A file whose writes, one a record, go to a list."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append
