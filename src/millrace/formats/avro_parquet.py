"""Parquet files of Avro records, which are dicts in Python. Needs fastavro."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.connectors.file_system.format import SplitRecords, StreamFormat
from millrace.connectors.file_system.lines import RecordError
from millrace.connectors.file_system.split import FileSplit
from millrace.formats.avro_arrow import ArrowRecords
from millrace.formats.avro_generic import AvroSchema, GenericRecordAvroTypeInfo
from millrace.formats.parquet import ROW_GROUP, ParquetBatches

__all__ = ["AvroParquetReaders", "AvroParquetWriters"]

BATCH = 8192
"""rows that are read at once"""
SCHEMA_KEY = "parquet.avro.schema"
"""under which readers in Java find the schema in a file"""


class AvroParquetReaders:
    """Readers of Parquet files for ``FileSource.for_record_stream_format``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> format = AvroParquetReaders.for_generic_record(AvroSchema.parse_string(text))
        >>> builder = FileSource.for_record_stream_format(format, "orders.parquet")
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat[dict[str, Any]]:
        """Read records as dicts. A field that a file lacks has the schema's default.

        :raises TypeError: the schema is none of a record.
        """
        return _AvroParquetFormat(schema)


class _AvroParquetFormat(StreamFormat[dict[str, Any]]):
    def __init__(self, schema: AvroSchema) -> None:
        ArrowRecords(schema)
        self._schema = schema

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit) -> SplitRecords[dict[str, Any]]:
        return _AvroParquetRecords(split, ArrowRecords(self._schema))

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class _AvroParquetRecords(ParquetBatches[dict[str, Any]]):
    def __init__(self, split: FileSplit, records: ArrowRecords) -> None:
        super().__init__(split, records.schema, BATCH, True)
        self._records = records

    def _elements(self, batch: Any) -> list[dict[str, Any]]:
        try:
            return self._records.from_batch(batch)
        except ValueError as error:
            raise RecordError(f"{self._split.path}: {error}") from error


class AvroParquetWriters:
    """Writers of Parquet files for ``FileSink.for_bulk_format``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> writers = AvroParquetWriters.for_generic_record(AvroSchema.parse_string(text))
        >>> sink = FileSink.for_bulk_format("out", writers).build()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Write dicts that fit the schema.

        :raises TypeError: the schema is none of a record.
        """
        ArrowRecords(schema)
        return _AvroParquetWriterFactory(schema)


class _AvroParquetWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _AvroParquetWriter(stream, self._schema)


class _AvroParquetWriter(BulkWriter):
    def __init__(self, stream: Any, schema: AvroSchema) -> None:
        self._records = ArrowRecords(schema)
        self._file = pq.ParquetWriter(stream, self._records.schema.with_metadata({SCHEMA_KEY: str(schema)}))
        self._rows: list[dict[str, Any]] = []

    def add_element(self, element: Any) -> None:
        """:raises ValueError: it has no form in the schema."""
        self._rows.append(self._records.to_row(element))
        if len(self._rows) >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._file.write_batch(pa.RecordBatch.from_pylist(self._rows, self._records.schema))
            self._rows = []

    def finish(self) -> None:
        self.flush()
        self._file.close()
