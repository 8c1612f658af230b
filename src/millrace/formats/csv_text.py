"""Rows as CSV lines, by the standard library's csv module."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from millrace.formats.csv_schema import CsvDialect, CsvSchema
from millrace.formats.csv_values import field_formatter

__all__ = ["CsvText", "reader_options"]


_MAX_FIELD = 1 << 27
"""characters; Python's own limit, which is one of the process, is 131,072"""


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


class CsvText:
    """Formats rows by a schema.

    :param as_java: with quotes wherever Jackson puts them, as in files; otherwise where they are needed.
    """

    def __init__(self, schema: CsvSchema, as_java: bool = False) -> None:
        dialect = schema.dialect
        self._java_quotes = None
        if as_java and dialect.quote_char is not None:
            self._java_quotes = JavaQuotes(dialect, [pa.types.is_string(column.type) for column in schema.columns])
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
        return self._join([self._names], True)

    def _join(self, records: list[list[str]], is_header: bool = False) -> str:
        if self._java_quotes is not None:
            end = self._line_separator
            return "".join([self._java_quotes.line(record, is_header) + end for record in records])
        lines: list[str] = []
        csv.writer(_Lines(lines), **self._options).writerows(records)
        return "".join([line[:-2] + self._line_separator for line in lines])


class JavaQuotes:
    """Puts into quotes what Java's library for CSV puts there: text that is long, or that has any character up to the
    greater of separator and quote."""

    def __init__(self, dialect: CsvDialect, are_texts: list[bool]) -> None:
        assert dialect.quote_char is not None
        self._separator, self._quote, self._escape = dialect.column_separator, dialect.quote_char, dialect.escape_char
        self._null = dialect.null_value or ""
        self._are_texts = are_texts
        last = re.escape(chr(max(ord(self._separator), ord(self._quote))))
        special = "".join(map(re.escape, filter(None, (self._separator, self._quote, self._escape, "\n", "\r"))))
        self._text = re.compile(f"[\0-{last}{special}]|.{{25}}", re.DOTALL)
        self._other = re.compile(f"[{special}]")

    def line(self, record: list[str], is_header: bool) -> str:
        """A record without its end of line; names of columns are texts."""
        fields = [self._field(field, is_header or text) for field, text in zip(record, self._are_texts, strict=True)]
        if fields == [""]:
            return self._quote * 2  # an empty line would be no record
        return self._separator.join(fields)

    def _field(self, field: str, is_text: bool) -> str:
        if field == self._null or not (self._text if is_text else self._other).search(field):
            return field
        if self._escape is not None:
            field = field.replace(self._escape, self._escape * 2)
        return f"{self._quote}{field.replace(self._quote, self._quote * 2)}{self._quote}"


class _Lines:
    """A file whose writes, one a record, go to a list."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append
