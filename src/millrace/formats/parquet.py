"""Parquet files of DataStreams, read and written as rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.files.file_systems import open_file_system
from millrace.common.serialization import BulkWriterFactory
from millrace.common.typeinfo import TypeInformation
from millrace.common.types import Row
from millrace.connectors.file_system.file_format import BulkFormat, SplitRecords
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.arrow_rows import ArrowWriterFactory, arrow_schema, row_type_info, rows_of_batch
from millrace.formats.parquet_pages import Fetched, rows_at_once

__all__ = ["ParquetBatches", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]

T = TypeVar("T")

ROW_GROUP = 1 << 17
"""Rows that a writer holds back and writes as one row group."""


class ParquetColumnarRowInputFormat(BulkFormat[Row]):
    """Reads Parquet files as rows, nested types included. Large files are split at row groups.

        >>> row = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())])
        >>> sink = FileSink.for_bulk_format("out", ParquetBulkWriters.for_row_type(row)).build()
        >>> written = env.from_collection([Row(1)], Types.ROW_NAMED(["id"], [Types.INT()])).sink_to(sink)
        >>> result = env.execute()
        >>> source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row), "out").build()
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "ids").execute_and_collect())
        [Row(id=1)]

    :param row_type: the columns to read: ``Types.ROW_NAMED``, ``DataTypes.ROW`` or a pyarrow schema; columns that a
        file lacks are None. None reads each file with the columns and types that it has.
    :param hadoop_config: ignored.
    :param batch_size: rows a batch, at least 8192: larger batches are what makes reading fast.
    :param is_utc_timestamp: ignored: timestamps without zone come as they are written.
    :param is_case_sensitive: whether column names must match exactly.
    """

    def __init__(
        self,
        row_type: Any = None,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        self._schema = None if row_type is None else arrow_schema(row_type)
        self._batch_size = max(batch_size, 8192)
        self._is_case_sensitive = is_case_sensitive

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit) -> SplitRecords[Row]:
        return _ParquetRecords(split, self._schema, self._batch_size, self._is_case_sensitive)

    def get_produced_type(self) -> TypeInformation | None:
        return None if self._schema is None else row_type_info(self._schema)


class ParquetBatches(SplitRecords[T], Generic[T]):
    """The rows of the row groups that start inside a split; the position is a number of rows."""

    def __init__(self, split: FileSplit, schema: Any, batch_size: int, case_sensitive: bool) -> None:
        self._split = split
        self._file = OpenParquet(split)
        self._schema = schema
        present = {name if case_sensitive else name.lower(): name for name in self._file.names}
        names = self._file.names if schema is None else schema.names
        self._names = list(names)
        self._columns = [present.get(name if case_sensitive else name.lower()) for name in names]
        self._position = split.position or 0
        self._batches = self._open_batches(batch_size)

    def _open_batches(self, batch_size: int) -> Iterator[Any]:
        metadata = self._file.metadata
        groups = list(range(metadata.num_row_groups))
        if not self._split.whole:
            groups = [number for number in groups if begins_in(self._split, metadata.row_group(number))]
        self._skip = self._position
        while groups and self._skip >= metadata.row_group(groups[0]).num_rows:
            self._skip -= metadata.row_group(groups.pop(0)).num_rows
        columns = [name for name in self._columns if name is not None]
        return (batch for group in groups for batch in self._file.batches(group, columns, batch_size, threads=True))

    @abstractmethod
    def _elements(self, batch: Any) -> list[T]:
        """What the rows of a record batch are for programs."""

    def read_batch(self) -> list[T] | None:
        batch = self._next()
        while batch is not None and self._skip >= batch.num_rows > 0:
            self._skip -= batch.num_rows
            batch = self._next()
        if batch is None:
            return None
        if self._skip:
            batch = batch.slice(self._skip)
            self._skip = 0
        try:
            found = self._elements(self._projected(batch))
        except UnicodeDecodeError as error:
            place = f"{self._split.path}, after row {self._position}"
            raise RecordError(f"{place}: a text is not UTF-8: {error}") from error
        self._position += batch.num_rows
        return found

    def _next(self) -> Any:
        try:
            return next(self._batches, None)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RecordError(f"{self._split.path}, after row {self._position}: {error}") from error

    def _projected(self, batch: Any) -> Any:
        if self._schema is None:
            return batch
        columns = []
        for field, name in zip(self._schema, self._columns, strict=True):
            column = pa.nulls(batch.num_rows, field.type) if name is None else batch.column(name)
            try:
                columns.append(column if column.type == field.type else column.cast(field.type))
            except pa.ArrowException as error:
                raise RecordError(
                    f"{self._split.path}: column {name!r} ({column.type}) can't be read as {field.type}: {error}"
                ) from error
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._file.close()


class _ParquetRecords(ParquetBatches[Row]):
    def _elements(self, batch: Any) -> list[Row]:
        return rows_of_batch(batch, self._names)


class ParquetBulkWriters:
    """Writers of Parquet files for ``FileSink.for_bulk_format``.

    >>> row = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT())])
    >>> sink = FileSink.for_bulk_format("out", ParquetBulkWriters.for_row_type(row)).build()
    >>> written = env.from_collection([Row(1)], Types.ROW_NAMED(["id"], [Types.INT()])).sink_to(sink)
    >>> result = env.execute()
    """

    @staticmethod
    def for_row_type(row_type: Any, hadoop_config: Any = None, utc_timestamp: bool = False) -> BulkWriterFactory:
        """Write rows (Row, tuple or dict) of a type given as for ``ParquetColumnarRowInputFormat``.

        ``hadoop_config`` and ``utc_timestamp`` are ignored: files are Snappy compressed, timestamps without zone are
        written as they are.
        """
        return _ParquetWriterFactory(arrow_schema(row_type))


class _ParquetWriterFactory(ArrowWriterFactory):
    @property
    def rows(self) -> int:
        return ROW_GROUP

    def open(self, stream: Any) -> Any:
        return pq.ParquetWriter(stream, self.schema)

    def write(self, file: Any, batch: Any) -> None:
        file.write_batch(batch, row_group_size=ROW_GROUP)


class OpenParquet:
    """The file of a split, whose sizes are not believed.

    :raises RecordError: it is no Parquet file.
    """

    def __init__(self, split: FileSplit) -> None:
        stream = open_file_system(split.root)[0].open_input_file(split.path)
        try:
            self._held: Any = Fetched(stream) if split.root else stream
            # What is held is not fetched again, together with other ranges.
            self._file = parquet_file(pa.PythonFile(self._held) if split.root else stream, pre_buffer=not split.root)
            self.metadata: Any = self._file.metadata
            self.schema: pa.Schema = self._file.schema_arrow
            self.names: list[str] = self.schema.names
        except (pa.ArrowException, OSError, ValueError) as error:
            stream.close()
            raise RecordError(f"{split.path}: not a Parquet file: {error}") from error
        self._stream = stream

    def batches(self, group: int, columns: Sequence[str], most: int, threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, as many at once as fit into the memory that a record may have.

        :raises ValueError: not even one does, or the file is damaged.
        """
        rows = rows_at_once(self._held, self.metadata, group, columns, most)
        found = self._file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=threads)
        return found if rows * _FEW > most else _gathered(found, most)

    def close(self) -> None:
        """Close it."""
        self._file.close()
        self._stream.close()


_FEW = 16
_GATHERED = 16 << 20
"""bytes of small batches that become one"""


def _gathered(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > most or size + batch.nbytes > _GATHERED):
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield pa.concat_batches(held)


def parquet_file(source: Any, pre_buffer: bool = True) -> Any:
    """A file to read. Old times (INT96) in microseconds: as the nanoseconds that pyarrow makes of them by itself, those
    before 1677 and after 2262 would silently become others."""
    return pq.ParquetFile(source, pre_buffer=pre_buffer, coerce_int96_timestamp_unit="us")


def begins_in(split: FileSplit, group: Any) -> bool:
    """Whether a row group begins in a split of its file: then it belongs to it."""
    first = group.column(0)
    start = first.data_page_offset
    if first.has_dictionary_page:
        start = min(start, first.dictionary_page_offset)
    return bool(split.offset <= start < split.end)
