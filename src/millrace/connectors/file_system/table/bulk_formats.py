"""Bulk formats of a table's files: Parquet, ORC and Avro, whose files are begun and finished as a whole.

Parquet and ORC read only the columns that are needed, and Parquet skips row groups whose statistics exclude a
condition. Avro needs fastavro and makes Python objects of records: the others are many times faster.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.configuration import to_boolean, to_bytes_count, to_int
from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.file_format import SplitRecords
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.connectors.file_system.table.table_format import (
    BATCH,
    BulkTableFormat,
    ColumnRecords,
    FileColumns,
    GatheredWriter,
    read_option,
)
from millrace.formats.avro_blocks import reason
from millrace.formats.avro_records import AvroFileRecords
from millrace.formats.orc import OrcError, OrcRows, orc_options
from millrace.formats.parquet import OpenParquet, begins_in, parquet_file
from millrace.formats.tables.avro_format import avro_columns, avro_records, avro_schema
from millrace.formats.text_columns import NoForm
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.type_table import arrow_type, type_parts
from millrace.relational.types import DataType

# Columns as Arrow writes them

_NONE = (t.DayTimeIntervalType, t.YearMonthIntervalType, t.RawType, t.NullType, t.VariantType, t.BitmapType)


def file_schema(columns: Schema, format: str, table: str, none: tuple[type[DataType], ...] = ()) -> pa.Schema:
    """Names and Arrow types of the columns.

    :param none: types that the format does not have, besides those that no format has.
    :raises ValueError: a column of such a type.
    """
    for column in columns:
        for part in type_parts(column.type):
            if isinstance(part, (*_NONE, *none)):
                raise ValueError(f"table {table}: {format} files have no type {part} (column '{column.name}')")
    return pa.schema([pa.field(each.name, arrow_type(each.type), each.type.is_nullable) for each in columns])


# Row groups that a condition excludes

# (smallest, largest, constant) -> may a value between them compare so?
_POSSIBLE: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda low, high, value: bool(low <= value <= high),
    "<": lambda low, high, value: bool(low < value),
    "<=": lambda low, high, value: bool(low <= value),
    ">": lambda low, high, value: bool(high > value),
    ">=": lambda low, high, value: bool(high >= value),
}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Of floats nothing is known about NaN, of decimals and texts in CHAR the forms differ.
_ORDERED = (t.IntegralType, t.DateType, t.VarCharType, t.TimestampType, t.LocalZonedTimestampType)


def may_match(group: Any, filters: Sequence[Rex], columns: Schema) -> bool:
    """Whether some row of a Parquet row group may pass all conditions; True where nothing is known."""
    tests = [test for each in filters if (test := _test(each, columns)) is not None]
    if not tests:
        return True
    places = {group.column(index).path_in_schema: index for index in range(group.num_columns)}
    return all(_may(group, places, *test) for test in tests)


def _test(condition: Rex, columns: Schema) -> tuple[str, str, Any] | None:
    """(column, comparison, constant) of a condition that has this form."""
    if not isinstance(condition, Call) or condition.function not in _POSSIBLE or len(condition.args) != 2:
        return None
    left, right = condition.args
    function = condition.function
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal) or right.value is None:
        return None
    column = columns[left.index]
    if not isinstance(column.type, _ORDERED):
        return None
    return column.name, function, right.value


def _may(group: Any, places: dict[str, int], name: str, function: str, value: Any) -> bool:
    place = places.get(name)
    statistics = None if place is None else group.column(place).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = statistics.min, statistics.max
    try:
        return _POSSIBLE[function](_comparable(low), _comparable(high), _comparable(value))
    except TypeError:  # the file has another type than the table
        return True


def _comparable(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("Booleans have no order here")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return value


# Parquet

PARQUET_OPTIONS = (
    "compression",
    "enable.dictionary",
    "page.size",
    "utc-timezone",
    "batch-size",
    "write.int64.timestamp",
)
_PARQUET_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}


class ParquetTableFormat(BulkTableFormat):
    """Reads only the columns and row groups that are needed; large files are split at row groups.

    :param options: without the prefix ``parquet.``.
    :raises ValueError: a type that Parquet does not have, a value that an option does not have.
    """

    def __init__(self, columns: Schema, options: Mapping[str, str], table: str) -> None:
        self.columns = columns
        codec = options.get("compression", "SNAPPY").upper()
        self._codec = _PARQUET_CODECS.get(codec, codec.lower())
        self._settings: dict[str, Any] = {
            "use_dictionary": read_option(options, "enable.dictionary", to_boolean, "true"),
            "data_page_size": read_option(options, "page.size", to_bytes_count, "1mb"),
            "use_deprecated_int96_timestamps": not read_option(options, "write.int64.timestamp", to_boolean, "true"),
            "compression": self._codec,
        }
        self._batch = read_option(options, "batch-size", to_int, str(BATCH))
        self._schema = file_schema(columns, "Parquet", table)
        try:
            self.writer(pa.BufferOutputStream()).close()
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise ValueError(f"table {table}: Parquet cannot write it: {error}") from error

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        return _ParquetRecords(split, columns, filters, self._batch)

    def counted_rows(self, path: str) -> int | None:
        try:
            with pq.ParquetFile(path) as file:
                rows: int = file.metadata.num_rows
                return rows
        except (pa.ArrowException, OSError):
            return None

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _ParquetWriter(self, stream, part_bytes)

    def writer(self, stream: Any) -> pq.ParquetWriter:
        """A file to write tables into."""
        return pq.ParquetWriter(stream, self._schema, **self._settings)

    def merge(self, sources: Sequence[Any], target: Any) -> None:
        writer = self.writer(target)
        for source in sources:
            file = parquet_file(source)
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group).cast(self._schema))
        writer.close()


class _ParquetWriter(GatheredWriter):
    def __init__(self, format: ParquetTableFormat, stream: Any, part_bytes: int) -> None:
        super().__init__(format.columns, part_bytes)
        self._file = format.writer(stream)

    def group(self, table: pa.Table) -> None:
        self._file.write_table(table)

    def end(self) -> None:
        self._file.close()


class _ParquetRecords(ColumnRecords):
    """The rows of the row groups that start inside a split."""

    def __init__(self, split: FileSplit, columns: Schema, filters: Sequence[Rex], batch: int) -> None:
        self._file = OpenParquet(split)
        self._columns = columns
        self._filters = filters
        self._batch = batch
        super().__init__(split, self._file, FileColumns(split.path, columns, self._file.names))

    def batches(self, position: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        start = 0
        for number in range(self._file.metadata.num_row_groups):
            group = self._file.metadata.row_group(number)
            if not (self._split.whole or begins_in(self._split, group)):
                continue
            before, start = start, start + group.num_rows
            if start <= position or not may_match(group, self._filters, self._columns):
                continue
            at = before
            for batch in self._file.batches(number, self._wanted.read, self._batch):
                skip = max(0, min(position - at, batch.num_rows))
                at += batch.num_rows
                if skip < batch.num_rows:
                    yield at, batch.slice(skip) if skip else batch


# ORC

ORC_OPTIONS = ("compress", "compress.size", "stripe.size", "row.index.stride")


class OrcTableFormat(BulkTableFormat):
    """Reads only the columns that are needed; large files are split at stripes.

    :param options: without the prefix ``orc.``.
    :raises ValueError: a type that ORC does not have, a value that an option does not have.
    """

    def __init__(self, columns: Schema, options: Mapping[str, str], table: str) -> None:
        self.columns = columns
        self._schema = file_schema(columns, "ORC", table, (t.TimeType,))
        self._options = orc_options({f"orc.{name}": value for name, value in options.items()})
        try:
            writer = self.writer(pa.BufferOutputStream())
            writer.write(self._schema.empty_table())
            writer.close()
        except (pa.ArrowException, TypeError, ValueError, OSError) as error:
            raise ValueError(f"table {table}: ORC cannot write it: {error}") from error

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        return _OrcRecords(split, columns)

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _OrcWriter(self, stream, part_bytes)

    def writer(self, stream: Any) -> Any:
        """A file to write tables into."""
        from pyarrow.orc import ORCWriter

        return ORCWriter(stream, **self._options)

    def merge(self, sources: Sequence[Any], target: Any) -> None:
        from pyarrow.orc import ORCFile

        writer = self.writer(target)
        for source in sources:
            file = ORCFile(source)
            for stripe in range(file.nstripes):
                table = pa.Table.from_batches([file.read_stripe(stripe)])
                writer.write(table)
        writer.close()


class _OrcWriter(GatheredWriter):
    def __init__(self, format: OrcTableFormat, stream: Any, part_bytes: int) -> None:
        super().__init__(format.columns, part_bytes)
        self._file = format.writer(stream)

    def group(self, table: pa.Table) -> None:
        self._file.write(pa.Table.from_arrays(list(map(_whole, table.columns)), schema=table.schema))

    def end(self) -> None:
        self._file.close()


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose arrays begin at their buffers' begin: of nested ones the writer overlooks the offset."""
    if not pa.types.is_nested(column.type):
        return column
    whole = [chunk.take(pa.array(range(len(chunk)))) if chunk.offset else chunk for chunk in column.chunks]
    return pa.chunked_array(whole, column.type)


class _OrcRecords(ColumnRecords):
    """The rows of a split's stripes. Where stripes lie is not told, so each counts as if they were of equal size."""

    def __init__(self, split: FileSplit, columns: Schema) -> None:
        stream = open_file_system(split.root)[0].open_input_file(split.path)
        try:
            self._file = OrcRows(stream)
        except (OrcError, OSError) as error:
            stream.close()
            raise RecordError(f"{split.path}: not an ORC file: {error}") from error
        self._stripes = self._mine(split, stream.size())
        super().__init__(split, stream, FileColumns(split.path, columns, self._file.names))

    def _mine(self, split: FileSplit, size: int) -> list[int]:
        stripes = range(self._file.stripes)
        if split.whole:
            return list(stripes)
        return [stripe for stripe in stripes if split.offset <= stripe * size // len(stripes) < split.end]

    def batches(self, position: int) -> Generator[tuple[int, pa.RecordBatch], None, None]:
        # Without any column a stripe would not tell how many rows it has.
        columns = self._wanted.read or self._file.names[:1]
        at = 0
        for stripe in self._stripes:
            for found in self._file.batches(stripe, columns, BATCH):
                skip = max(0, min(position - at, found.num_rows))
                at += found.num_rows
                if skip < found.num_rows:
                    yield at, found.slice(skip) if skip else found

    def close(self) -> None:
        cast(Generator[Any, None, None], self._batches).close()
        self._file.close()
        super().close()


# Avro

AVRO_OPTIONS = ("codec", "timestamp_mapping.legacy")
_AVRO_CODECS = {"zstd": "zstandard"}


class AvroTableFormat(BulkTableFormat):
    """A file is one split. Records are Python objects on their way: Parquet and ORC are many times faster.

    :param options: without the prefix ``avro.``.
    :raises ValueError: a type that Avro does not have, a codec that is not installed, or no fastavro.
    """

    def __init__(self, columns: Schema, options: Mapping[str, str], table: str) -> None:
        try:
            import fastavro  # noqa: F401
        except ImportError:
            needed = "format 'avro' needs fastavro: pip install 'millrace-streaming[avro]'"
            raise ValueError(f"table {table}: {needed}") from None
        self.columns = columns
        codec = options.get("codec", "deflate").lower()
        self._codec = _AVRO_CODECS.get(codec, codec)
        try:
            self.schema = avro_schema(columns, read_option(options, "timestamp_mapping.legacy", to_boolean, "true"))
            self.writer(io.BytesIO()).flush()
        except (NoForm, ValueError) as error:
            raise ValueError(f"table {table}: format 'avro', {error}") from error

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        return _AvroRecords(split, columns)

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _AvroWriter(self, stream, part_bytes)

    def writer(self, stream: Any) -> Any:
        """fastavro's writer of a file."""
        import fastavro.write

        return fastavro.write.Writer(stream, self.schema, self._codec)

    def merge(self, sources: Sequence[Any], target: Any) -> None:
        import fastavro

        writer = self.writer(target)
        for source in sources:
            for record in fastavro.reader(io.BufferedReader(source)):
                writer.write(record)
        writer.flush()


class _AvroWriter(GatheredWriter):
    def __init__(self, format: AvroTableFormat, stream: Any, part_bytes: int) -> None:
        super().__init__(format.columns, part_bytes)
        self._columns = format.columns
        self._file = format.writer(stream)

    def group(self, table: pa.Table) -> None:
        for batch in table.to_batches():
            for record in avro_records(Rows(record_batch(batch.columns, batch.num_rows)), self._columns):
                self._file.write(record)

    def end(self) -> None:
        self._file.flush()


class _AvroRecords(AvroFileRecords[Rows]):
    def __init__(self, split: FileSplit, columns: Schema) -> None:
        super().__init__(split)
        self._columns = columns

    def batch(self, records: list[dict[str, Any]]) -> list[Rows]:
        return [Rows(record_batch(avro_columns(records, self._columns), len(records)))]

    def problem(self, error: Exception, read: int) -> RecordError:
        return RecordError(f"{self._path}, after record {read}: {reason(error)}")
