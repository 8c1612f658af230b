"""Parquet files as rows in columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.config_values import to_boolean, to_bytes_count, to_int
from millrace.connectors.file_system.format import SplitRecords
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.tables.filesystem.formats.base import (
    BATCH,
    BulkTableFormat,
    ColumnRecords,
    FileColumns,
    GatheredWriter,
    read_option,
)
from millrace.connectors.tables.filesystem.formats.file_schema import file_schema
from millrace.connectors.tables.filesystem.formats.group_statistics import may_match
from millrace.formats.parquet import OpenParquet, begins_in, parquet_file
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows

OPTIONS = ("compression", "enable.dictionary", "page.size", "utc-timezone", "batch-size", "write.int64.timestamp")
_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}


class ParquetTableFormat(BulkTableFormat):
    """Reads only the columns and row groups that are needed; large files are split at row groups.

    :param options: without the prefix ``parquet.``.
    :raises ValueError: a type that Parquet does not have, a value that an option does not have.
    """

    def __init__(self, columns: Schema, options: Mapping[str, str], table: str) -> None:
        self.columns = columns
        codec = options.get("compression", "SNAPPY").upper()
        self._codec = _CODECS.get(codec, codec.lower())
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
        return _Records(split, columns, filters, self._batch)

    def counted_rows(self, path: str) -> int | None:
        try:
            with pq.ParquetFile(path) as file:
                rows: int = file.metadata.num_rows
                return rows
        except (pa.ArrowException, OSError):
            return None

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _Writer(self, stream, part_bytes)

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


class _Writer(GatheredWriter):
    def __init__(self, format: ParquetTableFormat, stream: Any, part_bytes: int) -> None:
        super().__init__(format.columns, part_bytes)
        self._file = format.writer(stream)

    def group(self, table: pa.Table) -> None:
        self._file.write_table(table)

    def end(self) -> None:
        self._file.close()


class _Records(ColumnRecords):
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
