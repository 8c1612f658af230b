"""Files of Avro records: reading and writing them as dicts. Needs fastavro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from millrace.common.files.file_systems import absolute, open_file_system
from millrace.common.io import InputFormat, ResultTypeQueryable
from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.format import BulkFormat, SplitRecords
from millrace.connectors.file_system.lines import RecordError
from millrace.connectors.file_system.source import FileSource
from millrace.connectors.file_system.split import FileSplit
from millrace.formats.avro_blocks import BROKEN, avro_blocks
from millrace.formats.avro_generic import AvroSchema, GenericRecordAvroTypeInfo
from millrace.formats.avro_safe import reason

__all__ = ["AvroBulkWriters", "AvroFileFormat", "AvroInputFormat"]

_RECORDS = 8192
"""of a batch: blocks can say that they have any number of records of no bytes"""


class AvroInputFormat(InputFormat, FileSource[dict[str, Any]], ResultTypeQueryable):
    """The records of an Avro file, or of the files of a folder, for ``env.create_input``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> orders = AvroInputFormat("orders.avro", AvroSchema.parse_string(text))

    :param path: the file or folder.
    :param schema: of the records; files are read by the schema that they were written with.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._schema = schema
        whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()
        super().__init__(AvroFileFormat(schema), (absolute(path),), whole, None)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class AvroFileFormat(BulkFormat[dict[str, Any]]):
    """Avro files, read block by block."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def open(self, split: FileSplit) -> SplitRecords[dict[str, Any]]:
        return _AvroRecords(split)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class _AvroRecords(SplitRecords[dict[str, Any]]):
    """The records of a file; the position is a number of records."""

    def __init__(self, split: FileSplit) -> None:
        self._path = split.path
        self._stream = open_file_system(split.root)[0].open_input_file(split.path)
        self._position = split.position or 0
        try:
            self._blocks: Iterator[Any] = iter(avro_blocks(self._stream))
        except BROKEN as error:
            self._stream.close()
            raise RecordError(f"{self._path}: not an Avro file: {reason(error)}") from error
        self._left = self._records()

    def read_batch(self) -> list[dict[str, Any]] | None:
        records: list[dict[str, Any]] = []
        try:
            records.extend(islice(self._left, _RECORDS))
        except BROKEN as error:
            read = self._position + len(records)
            place = f", after record {read}" if read else ""
            raise RecordError(f"{self._path}{place}: not an Avro file: {reason(error)}") from error
        self._position += len(records)
        return records or None

    def _records(self) -> Iterator[dict[str, Any]]:
        skip = self._position
        for block in self._blocks:
            if skip < block.num_records:
                yield from islice(block, skip, None)
            skip = max(skip - block.num_records, 0)

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._stream.close()


class AvroBulkWriters:
    """Writers of Avro files for ``FileSink.for_bulk_format``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> schema = AvroSchema.parse_string(text)
        >>> sink = FileSink.for_bulk_format("out", AvroBulkWriters.for_generic_record(schema)).build()
        >>> written = env.from_collection([{"id": 1}], GenericRecordAvroTypeInfo(schema)).sink_to(sink)
        >>> result = env.execute()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Write dicts that fit the schema."""
        return _AvroWriterFactory(schema)


class _AvroWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _AvroWriter(stream, self._schema)


class _AvroWriter(BulkWriter):
    def __init__(self, stream: Any, schema: AvroSchema) -> None:
        from fastavro.write import Writer

        # In Avro's Python library, which PyFlink uses, a tuple is no name of a type with a value of it.
        self._writer = Writer(_Stream(stream), schema.parsed, options={"disable_tuple_notation": True})

    def add_element(self, element: Any) -> None:
        """:raises ValueError: it has no form in the schema."""
        try:
            self._writer.write(element)
        except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            raise ValueError(f"{element!r} has no form in the Avro schema: {error}") from error

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self.flush()


class _Stream:
    """What fastavro writes to: a new file, whatever the stream below can do."""

    def __init__(self, stream: Any) -> None:
        self.write = stream.write

    def flush(self) -> None:
        """The stream's owner decides when."""

    def seekable(self) -> bool:
        return False
