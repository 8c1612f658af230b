"""CSV files as rows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from typing import Any

from millrace.common.serialization import BulkWriter, BulkWriterFactory, RowDataBulkWriterFactory
from millrace.common.types import Row, row_of
from millrace.connectors.file_system.format import SplitRecords, StreamFormat
from millrace.connectors.file_system.lines import LargeLine, LineBlocks, RecordError, where
from millrace.connectors.file_system.split import FileSplit
from millrace.formats.arrow_rows import values_of_row
from millrace.formats.csv_messages import CsvRowDeserializationSchema, CsvRowSerializationSchema
from millrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from millrace.formats.csv_text import CsvText, reader_options
from millrace.formats.csv_values import column_parser, field_parser
from millrace.formats.types import row_type_info

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

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
        """The same format, but records that do not fit are counted and skipped."""
        return CsvReaderFormat(self._schema, True)

    def open(self, split: FileSplit) -> SplitRecords[Row]:
        return _CsvRecords(split, self._schema, self._ignore_parse_errors)

    def get_produced_type(self) -> Any:
        return row_type_info(self._schema.arrow_schema())


class _CsvRecords(SplitRecords[Row]):
    """Records by the csv module, which takes lines only as it needs them: after a record, ``_offset`` is its end."""

    def __init__(self, split: FileSplit, schema: CsvSchema, ignore_parse_errors: bool) -> None:
        self._split = split
        self._schema = schema
        self._dialect = schema.dialect
        self._ignore = ignore_parse_errors
        self._names = schema.names
        self._columns = [column_parser(column, schema.dialect) for column in schema.columns]
        self._fields = [field_parser(column, schema.dialect) for column in schema.columns]
        self._blocks = LineBlocks(split, returns=True, left_out=self._leave_out if ignore_parse_errors else None)
        self._offset = self._blocks.position
        self._at_record_start = True
        self._records = csv.reader(self._lines(), **reader_options(schema.dialect))
        if split.position is None:
            self._skip_head()

    def _lines(self) -> Iterator[str]:
        comments = self._dialect.allow_comments
        while (block := self._blocks.next_block()) is not None:
            self._offset = self._blocks.position - len(block)
            for line in block.splitlines(True):
                self._offset += len(line)
                if comments and self._at_record_start and line.startswith(b"#"):
                    continue
                self._at_record_start = False
                yield line.decode("utf-8")

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
                    self._records = csv.reader(self._rest(), **reader_options(self._dialect))
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
        return self._lines()

    def read_batch(self) -> list[Row] | None:
        start = self._offset
        records = self._take(BATCH)
        if not records:
            return None if self._offset == start else []
        width = len(self._names)
        if set(map(len, records)) == {width}:
            try:
                columns = [parse(texts) for parse, texts in zip(self._columns, zip(*records, strict=True), strict=True)]
                return list(map(row_of, map(list, zip(*columns, strict=True)), repeat(self._names)))
            except ValueError:
                pass  # go through them one by one
        return self._one_by_one(records, start)

    def _one_by_one(self, records: list[list[str]], start: int) -> list[Row]:
        rows = []
        for number, record in enumerate(records):
            try:
                if len(record) != len(self._fields):
                    raise ValueError(f"{len(self._fields)} fields expected, but there are {len(record)}: {record}")
                rows.append(row_of([self._field(n, text) for n, text in enumerate(record)], self._names))
            except ValueError as error:
                if not self._ignore:
                    raise RecordError(f"{where(self._split, self._start_of(start, number))}: {error}") from error
                self.parse_errors += 1
        return rows

    def _field(self, number: int, text: str) -> Any:
        try:
            return self._fields[number](text)
        except ValueError as error:
            raise ValueError(f"field {self._names[number]!r}: {error}") from error

    def _start_of(self, start: int, number: int) -> int:
        """Where record ``number`` after the byte ``start`` begins, found by reading again."""
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
        self._text = CsvText(schema, as_java=True)
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
