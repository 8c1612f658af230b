"""CSV as rows: messages of one row each, and files."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, repeat
from typing import Any

import pyarrow as pa

from millrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    DeserializationSchema,
    RowDataBulkWriterFactory,
    SerializationSchema,
)
from millrace.common.types import Row, row_of
from millrace.connectors.file_system.file_format import LargeLine, LineBlocks, SplitRecords, StreamFormat, where
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.arrow_rows import arrow_schema, python_converter, python_values, row_type_info, values_of_row
from millrace.formats.csv_blocks import CsvBlocks
from millrace.formats.csv_fields import ROWS, TABLES, CsvRules, FieldReader, FieldReaders
from millrace.formats.csv_records import RecordSplitter, fitted
from millrace.formats.csv_schema import CsvColumn, CsvDialect, CsvSchema, _one_char, schema_of_fields
from millrace.formats.csv_texts import RowTexts, as_they_are, stripped
from millrace.util.skipped import record_skipped

__all__ = ["CsvBulkWriters", "CsvReaderFormat", "CsvRowDeserializationSchema", "CsvRowSerializationSchema", "CsvSchema"]


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


class _Fields:
    """Reads the fields of one column as what programs see.

    :ivar value: the value of a text; raises ValueError for one that does not fit.
    """

    def __init__(self, reader: FieldReader, column: CsvColumn, null: str | None) -> None:
        self._reader = reader
        self._is_text = pa.types.is_string(column.type)
        self._null = null
        convert = python_converter(column.type)
        self.value: Callable[[str], Any] = reader.value if convert is None else _converted(reader.value, convert)

    def values(self, texts: Sequence[str]) -> Sequence[Any]:
        """:raises ValueError: for text that does not fit; does not say where."""
        if self._is_text and (self._null is None or self._null not in texts):
            return texts
        return python_values(self._reader.read(pa.array(texts, pa.string())))


def _converted(read: Callable[[str], Any], convert: Callable[[Any], Any]) -> Callable[[str], Any]:
    def value(text: str) -> Any:
        found = read(text)
        return None if found is None else convert(found)

    return value


def _readers(schema: CsvSchema, rules: CsvRules, lenient: bool = False) -> list[FieldReader]:
    """:raises TypeError: for a type that CSV cannot hold."""
    dialect = schema.dialect
    separators = [column.separator for column in schema.columns]
    return [
        FieldReaders(rules, dialect.null_value, dialect.array_separator if own is None else own, lenient).of_arrow(
            column.type
        )
        for column, own in zip(schema.columns, separators)
    ]


def _fields(schema: CsvSchema, readers: Sequence[FieldReader]) -> list[_Fields]:
    null = schema.dialect.null_value
    return [_Fields(reader, column, null) for reader, column in zip(readers, schema.columns)]


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
        self._fields: list[_Fields] | None = None
        self._splitter: RecordSplitter | None = None

    def deserialize(self, message: bytes) -> Row | None:
        """The row, or None for a message that is blank, a comment or (with ``ignore_parse_errors``) malformed.

        With ``ignore_parse_errors`` a field that is missing or does not fit is None, as in Flink.

        :raises ValueError: for a malformed message.
        """
        try:
            return self._parse(message.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
        except (ValueError, csv.Error) as error:
            if self._ignore_parse_errors:
                record_skipped()
                return None
            raise ValueError(f"Failed to deserialize CSV row {message!r}: {error}") from error

    def _parse(self, text: str) -> Row | None:
        if self._fields is None or self._splitter is None:
            self._fields = _fields(self._schema, _readers(self._schema, ROWS, self._ignore_parse_errors))
            self._splitter = RecordSplitter(self._schema.dialect)
        if self._schema.dialect.allow_comments and text.startswith("#"):
            return None
        record = next(self._splitter.split(text.splitlines(True)), None)
        if not record:
            return None
        texts = fitted(record, len(self._fields), lenient=self._ignore_parse_errors)
        values = [None if text is None else field.value(text) for field, text in zip(self._fields, texts)]
        return row_of(values, self._names)

    def get_produced_type(self) -> Any:
        """The type of the rows."""
        return row_type_info(self._schema.arrow_schema())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fields": None, "_splitter": None}

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
            """Malformed messages give nothing instead of an error, and fields that do not fit are None."""
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
        self._text: RowTexts | None = None

    def serialize(self, element: Any) -> bytes:
        """The line of a Row, tuple or dict, with the line delimiter at its end.

        :raises ValueError: if the number of fields differs from the type's.
        """
        if self._text is None:
            self._text = RowTexts(self._schema, as_they_are)
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


BATCH = 4096


class CsvReaderFormat(StreamFormat[Row]):
    """Reads CSV files (UTF-8, or what their BOM says) as rows named after the columns; make one with ``for_schema``.

    A file is one split, since a quoted field may contain line ends. A record that does not fit the schema is a
    ``RecordError`` (a ValueError) that names file and line.

        >>> import pathlib
        >>> _ = pathlib.Path("orders.csv").write_text("Ann,1\\nBob,2\\n")
        >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("amount").build()
        >>> source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "orders.csv").build()
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").execute_and_collect())
        [Row(name='Ann', amount=1), Row(name='Bob', amount=2)]
    """

    def __init__(self, schema: CsvSchema, ignore_parse_errors: bool = False) -> None:
        self._schema = schema
        self._ignore_parse_errors = ignore_parse_errors

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """The format of files with these columns."""
        return CsvReaderFormat(schema)

    def with_ignore_parse_errors(self) -> CsvReaderFormat:
        """A copy of this format that counts and skips records that do not fit, instead of raising ``RecordError``."""
        return CsvReaderFormat(self._schema, True)

    def open(self, split: FileSplit) -> SplitRecords[Row]:
        return _CsvRecords(split, self._schema, self._ignore_parse_errors)

    def get_produced_type(self) -> Any:
        return row_type_info(self._schema.arrow_schema())


class _CsvRecords(SplitRecords[Row]):
    """Whole blocks of lines by Arrow where it reads them as Flink does, else records by the csv module, which takes
    lines only as it needs them: after a record, ``_offset`` is its end."""

    def __init__(self, split: FileSplit, schema: CsvSchema, ignore_parse_errors: bool) -> None:
        self._split = split
        self._dialect = schema.dialect
        self._schema = schema
        self._ignore = ignore_parse_errors
        self._names = schema.names
        readers = _readers(schema, TABLES)
        self._fields = _fields(schema, readers)
        self._whole = _blocks(schema, readers)
        self._blocks = LineBlocks(split, returns=True, left_out=self._leave_out if ignore_parse_errors else None)
        self._offset = self._blocks.position
        self._left: Iterator[bytes] = iter(())  # lines of a block that are not read yet
        self._is_unusual = False
        self._at_record_start = True
        self._splitter = RecordSplitter(schema.dialect)
        self._records = self._splitter.split(self._lines())
        if split.position is None:
            self._skip_head()

    def _lines(self) -> Iterator[str]:
        comments = self._dialect.allow_comments
        while True:
            lines = self._left
            for line in lines:
                self._offset += len(line)
                if comments and self._at_record_start and line.startswith(b"#"):
                    continue
                self._at_record_start = False
                yield line.decode("utf-8")
            if self._left is lines:  # nothing took its place while the lines were read
                block = self._blocks.next_block()
                if block is None:
                    return
                self._is_unusual = False
                self._offset = self._blocks.position - len(block)
                self._left = iter(block.splitlines(True))

    def _leave_out(self, line: LargeLine) -> None:
        self.parse_errors += 1

    def _skip_head(self) -> None:
        if self._dialect.use_header:
            header = next(iter(self._take(1)), None)
            if self._dialect.strict_headers and header is not None and header != self._names:
                raise RecordError(f"{self._split.path}: the header is {header}, but the schema's columns {self._names}")
        if self._dialect.skip_first_data_row:
            self._take(1)

    def _take(self, count: int) -> list[list[str]]:
        """The next records, fewer only at the end; blank lines are none."""
        records: list[list[str]] = []
        while len(records) < count:
            before, start = len(records), self._offset
            try:
                if self._dialect.allow_comments:
                    self._at_record_start = True
                    records.extend(islice(self._records, 1))
                else:
                    records.extend(islice(self._records, count - before))
            except (csv.Error, UnicodeDecodeError) as error:
                if not self._ignore:
                    if len(records) == before:
                        raise RecordError(f"{where(self._split, start)}: {error}") from error
                    raise RecordError(f"{self._split.path}, before byte {self._offset}: {error}") from error
                self.parse_errors += 1
                if isinstance(error, UnicodeDecodeError):  # which has ended the generator of lines
                    self._records = self._splitter.split(self._rest())
                continue
            if len(records) == before:
                break
        if self._dialect.drop_more_fields:
            return [record[: len(self._names)] for record in records if record]
        return [record for record in records if record]

    def _rest(self) -> Iterator[str]:
        """Lines from ``_offset`` on."""
        self._blocks.close()
        self._blocks = LineBlocks(self._split.at(self._offset), returns=True)
        self._left = iter(())
        return self._lines()

    def read_batch(self) -> list[Row] | None:
        start = self._offset
        rows = self._whole_block()
        if rows is not None:
            return rows
        records = self._take(BATCH)
        if not records:
            return None if self._offset == start else []
        if set(map(len, records)) == {len(self._names)}:
            try:
                columns = [field.values(texts) for field, texts in zip(self._fields, zip(*records))]
                return _rows(columns, self._names)
            except ValueError:
                pass  # go through them one by one
        return self._one_by_one(records, start)

    def _whole_block(self) -> list[Row] | None:
        """The rows of the lines that are left of a block, or of the next one; None: record by record."""
        if self._whole is None or self._is_unusual:
            return None
        block = b"".join(self._left)
        if not block:
            block = self._blocks.next_block() or b""
            self._offset = self._blocks.position - len(block)
        found = self._whole.read(block)
        if found is None:
            self._left, self._is_unusual = iter(block.splitlines(True)), True
            return None
        self._offset += len(block)
        return _rows([python_values(column) for column in found[0]], self._names)

    def _one_by_one(self, records: list[list[str]], start: int) -> list[Row]:
        rows = []
        for number, record in enumerate(records):
            try:
                texts = fitted(record, len(self._names))
                rows.append(row_of([self._field(n, text) for n, text in enumerate(texts)], self._names))
            except ValueError as error:
                if not self._ignore:
                    raise RecordError(f"{where(self._split, self._start_of(start, number))}: {error}") from error
                self.parse_errors += 1
        return rows

    def _field(self, number: int, text: str | None) -> Any:
        try:
            return None if text is None else self._fields[number].value(text)
        except ValueError as error:
            raise ValueError(f"field {self._names[number]!r}: {error}") from error

    def _start_of(self, start: int, number: int) -> int:
        """The position (bytes) at which record ``number`` after the byte ``start`` begins, found by reading again."""
        again = _CsvRecords(self._split.at(start), self._schema, self._ignore)
        try:
            if start == self._blocks.head:
                again._skip_head()
            for _ in range(number):
                while not again._take(1):
                    pass
            return again._offset
        finally:
            again.close()

    def position(self) -> int:
        return self._offset

    def close(self) -> None:
        self._blocks.close()


def _rows(columns: Sequence[Sequence[Any]], names: list[str]) -> list[Row]:
    return list(map(row_of, map(list, zip(*columns)), repeat(names)))


def _blocks(schema: CsvSchema, readers: Sequence[FieldReader]) -> CsvBlocks | None:
    """None if Arrow does not read the columns as Flink does."""
    blocks = CsvBlocks(readers, range(len(readers)), len(readers), schema.dialect)
    return blocks if blocks.is_possible else None


class CsvBulkWriters:
    """Writers of CSV files for ``FileSink.for_bulk_format``.

    >>> import pathlib
    >>> schema = CsvSchema.builder().add_string_column("name").add_number_column("amount").build()
    >>> sink = FileSink.for_bulk_format("out", CsvBulkWriters.for_schema(schema)).build()
    >>> row = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])
    >>> written = env.from_collection([Row("Ann", 1)], row).sink_to(sink)
    >>> result = env.execute()
    >>> [part.read_text() for part in pathlib.Path("out").rglob("part-*")]
    ['Ann,1\\n']
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Write rows (Row, tuple or dict) as UTF-8, with a header if the schema says ``set_use_header``."""
        return _CsvWriterFactory(schema)


class _CsvWriterFactory(RowDataBulkWriterFactory):
    def __init__(self, schema: CsvSchema) -> None:
        super().__init__(row_type_info(schema.arrow_schema()))
        self._schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _CsvWriter(stream, self._schema)


class _CsvWriter(BulkWriter):
    def __init__(self, stream: Any, schema: CsvSchema) -> None:
        self._write: Callable[[bytes], Any] = stream.write
        self._names = schema.names
        self._text = RowTexts(schema, stripped)
        self._rows: list[Any] = []
        if schema.dialect.use_header:
            self._write(self._text.header().encode("utf-8"))

    def add_element(self, element: Any) -> None:
        self._rows.append(values_of_row(element, self._names))
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._write(self._text.lines(self._rows).encode("utf-8"))
            self._rows = []

    def finish(self) -> None:
        self.flush()
