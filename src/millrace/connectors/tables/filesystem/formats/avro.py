"""Avro files (object containers) as rows. Needs fastavro."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from millrace.common.config_values import to_boolean
from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.format import SplitRecords
from millrace.connectors.file_system.lines import RecordError
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.tables.filesystem.formats.base import BulkTableFormat, GatheredWriter, read_option
from millrace.formats.avro_blocks import BROKEN, avro_blocks
from millrace.formats.avro_safe import reason
from millrace.formats.tables.avro_schema import avro_columns, avro_records, avro_schema
from millrace.formats.tables.problems import NoForm
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch

OPTIONS = ("codec", "timestamp_mapping.legacy")
RECORDS = 8192
"""of a batch that is read"""
_CODECS = {"zstd": "zstandard"}


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
        self._codec = _CODECS.get(codec, codec)
        try:
            self.schema = avro_schema(columns, read_option(options, "timestamp_mapping.legacy", to_boolean, "true"))
            self.writer(io.BytesIO()).flush()
        except (NoForm, ValueError) as error:
            raise ValueError(f"table {table}: format 'avro', {error}") from error

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        return _Records(split, columns)

    def gathering(self, stream: Any, part_bytes: int) -> GatheredWriter:
        return _Writer(self, stream, part_bytes)

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


class _Writer(GatheredWriter):
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


class _Records(SplitRecords[Rows]):
    """The records of a file; the position is their number. Blocks that were read before are not decoded again."""

    def __init__(self, split: FileSplit, columns: Schema) -> None:
        self._path = split.path
        self._columns = columns
        self._stream = open_file_system(split.root)[0].open_input_file(split.path)
        self._position = split.position or 0
        try:
            self._blocks = avro_blocks(self._stream)
        except BROKEN as error:
            self._stream.close()
            raise RecordError(f"{split.path}: not an Avro file: {reason(error)}") from error
        self._records = self._left()

    def _left(self) -> Iterator[Any]:
        at = 0
        for block in self._blocks:
            begin = max(0, self._position - at)
            at += block.num_records
            if begin < block.num_records:
                yield from islice(block, begin, None)

    def read_batch(self) -> list[Rows] | None:
        records: list[Any] = []
        try:
            records.extend(islice(self._records, RECORDS))
        except BROKEN as error:
            raise self._problem(error, len(records)) from error
        try:
            columns = avro_columns(records, self._columns)
        except BROKEN as error:
            raise self._problem(error) from error
        if not records:
            return None
        self._position += len(records)
        return [Rows(record_batch(columns, len(records)))]

    def _problem(self, error: Exception, read: int = 0) -> RecordError:
        return RecordError(f"{self._path}, after record {self._position + read}: {reason(error)}")

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._stream.close()
