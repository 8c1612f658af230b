"""CSV messages: one row a message."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types import Row, row_of
from millrace.formats.arrow_rows import values_of_row
from millrace.formats.csv_schema import CsvDialect, CsvSchema, _one_char, schema_of_fields
from millrace.formats.csv_text import CsvText, reader_options
from millrace.formats.csv_values import field_parser
from millrace.formats.types import arrow_schema, row_type_info
from millrace.util.skipped import record_skipped

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]


class _Builder:
    """What both builders configure. Methods raise ValueError for what is not a single character."""

    def __init__(self, type_info: Any) -> None:
        """:raises TypeError: unless ``type_info`` is a row type."""
        if type_info is None:
            raise TypeError("Type information must not be None")
        self._schema = arrow_schema(type_info)
        self._dialect = CsvDialect()

    def _set(self, **options: Any) -> Any:
        self._dialect = replace(self._dialect, **options)
        return self

    def set_field_delimiter(self, delimiter: str) -> Any:
        """By default a comma."""
        return self._set(column_separator=_one_char("Field delimiter", delimiter))

    def set_array_element_delimiter(self, delimiter: str) -> Any:
        """By default a semicolon."""
        return self._set(array_separator=delimiter)

    def set_quote_character(self, c: str) -> Any:
        """By default ``"``."""
        return self._set(quote_char=_one_char("Quote character", c))

    def set_escape_character(self, c: str) -> Any:
        """By default there is none."""
        return self._set(escape_char=_one_char("Escape character", c))

    def set_null_literal(self, null_literal: str) -> Any:
        """The text of None."""
        return self._set(null_value=null_literal)

    def _csv_schema(self) -> CsvSchema:
        return schema_of_fields(self._schema.names, self._schema.types, self._dialect)


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a message as one CSV line and gives a ``Row``; make one with ``CsvRowDeserializationSchema.Builder``.

        >>> row = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
        >>> CsvRowDeserializationSchema.Builder(row).build().deserialize(b"Ann,1")
        Row(name='Ann', amount=1)
    """

    def __init__(self, schema: CsvSchema, ignore_parse_errors: bool) -> None:
        self._schema = schema
        self._ignore_parse_errors = ignore_parse_errors
        self._names = schema.names
        self._fields: Any = None

    def deserialize(self, message: bytes) -> Row | None:
        """The row, or None for a message that is blank, a comment or (with ``ignore_parse_errors``) malformed.

        :raises ValueError: for a malformed message.
        """
        try:
            return self._parse(message.decode("utf-8"))
        except (ValueError, csv.Error) as error:
            if self._ignore_parse_errors:
                record_skipped()
                return None
            raise ValueError(f"Failed to deserialize CSV row {message!r}: {error}") from error

    def _parse(self, text: str) -> Row | None:
        if self._fields is None:
            self._fields = [field_parser(column, self._schema.dialect) for column in self._schema.columns]
        if self._schema.dialect.allow_comments and text.startswith("#"):
            return None
        record = next(csv.reader(text.splitlines(True), **reader_options(self._schema.dialect)), None)
        if not record:
            return None
        if len(record) != len(self._fields):
            raise ValueError(f"Row length mismatch. {len(self._fields)} fields expected but was {len(record)}.")
        return row_of([parse(text) for parse, text in zip(self._fields, record, strict=True)], self._names)

    def get_produced_type(self) -> Any:
        """The type of the rows."""
        return row_type_info(self._schema.arrow_schema())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fields": None}

    class Builder(_Builder):
        """Builds a ``CsvRowDeserializationSchema`` for a row type."""

        def __init__(self, type_info: Any) -> None:
            super().__init__(type_info)
            self._ignore_parse_errors = False

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Messages that start with ``#`` give nothing."""
            self._set(allow_comments=allow_comments)
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Malformed messages give nothing instead of an error."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            return CsvRowDeserializationSchema(self._csv_schema(), self._ignore_parse_errors)


class CsvRowSerializationSchema(SerializationSchema):
    """Writes a row as one CSV line; make one with ``CsvRowSerializationSchema.Builder``.

        >>> row = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
        >>> CsvRowSerializationSchema.Builder(row).build().serialize(Row("Ann", 1))
        b'Ann,1\\n'
    """

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self._names = schema.names
        self._text: CsvText | None = None

    def serialize(self, element: Any) -> bytes:
        """The line of a Row, tuple or dict, with the line delimiter at its end.

        :raises ValueError: if the number of fields differs from the type's.
        """
        if self._text is None:
            self._text = CsvText(self._schema)
        return self._text.lines([values_of_row(element, self._names)]).encode("utf-8")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_text": None}

    class Builder(_Builder):
        """Builds a ``CsvRowSerializationSchema`` for a row type."""

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            super().set_field_delimiter(c)
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            super().set_null_literal(s)
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """By default ``\\n``; "" for none."""
            self._set(line_separator=delimiter)
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Fields are never quoted; one that would need it is an error unless there is an escape character."""
            self._set(quote_char=None)
            return self

        def build(self) -> CsvRowSerializationSchema:
            return CsvRowSerializationSchema(self._csv_schema())
