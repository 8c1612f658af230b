"""Records of Avro, for streams and for tables: messages that have no schema, and files batch by batch.

Records are dicts. Needs fastavro, which the functions import.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.file_format import SplitRecords
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.avro_blocks import BROKEN, avro_blocks, reason

T = TypeVar("T")

BATCH = 8192
"""the most records of a batch: blocks can claim to have any number of records of no bytes"""


def read_message(message: bytes, schema: Any, recursive: bool) -> Any:
    """The record of a message without its schema.

    :param schema: as fastavro has parsed it.
    :param recursive: whether a record of the schema can hold records of the same kind.
    :raises ValueError: and the others of ``UNREADABLE``.
    """
    if recursive:
        # The reader in C goes down until the stack of the process ends, and the process with it.
        from fastavro import _read_py as readers
    else:
        import fastavro as readers
    stream = io.BytesIO(message)
    record = readers.schemaless_reader(stream, schema, None)
    if stream.tell() != len(message):
        raise ValueError(f"{len(message) - stream.tell()} bytes are left over")
    return record


def write_message(record: Any, schema: Any, start: bytes = b"") -> bytes:
    """A message without its schema.

    :param start: bytes in front of the record.
    :raises ValueError: or TypeError, AttributeError, KeyError: the record has no form in the schema.
    """
    import fastavro

    stream = io.BytesIO()
    stream.write(start)
    fastavro.schemaless_writer(stream, schema, record)
    return stream.getvalue()


class AvroFileRecords(SplitRecords[T]):
    """The records of a file; the position is a number of records. Blocks before it are not decoded again.

    :raises RecordError: the file is no Avro file.
    """

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

    @abstractmethod
    def batch(self, records: list[dict[str, Any]]) -> list[T]:
        """What readers get for records, of which there is at least one."""

    @abstractmethod
    def problem(self, error: Exception, read: int) -> RecordError:
        """The error that readers get.

        :param read: the number of records before the broken one.
        """

    def read_batch(self) -> list[T] | None:
        records: list[dict[str, Any]] = []
        try:
            records.extend(islice(self._left, BATCH))
        except BROKEN as error:
            raise self.problem(error, self._position + len(records)) from error
        if not records:
            return None
        try:
            found = self.batch(records)
        except BROKEN as error:
            raise self.problem(error, self._position) from error
        self._position += len(records)
        return found

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
