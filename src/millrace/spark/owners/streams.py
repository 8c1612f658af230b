"""The data of a task, between a socket and the runtime's packets."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

START = struct.pack(">i", -6)
"""What Spark's JVM reads before the first batch of a stream (``SpecialLengths.START_ARROW_STREAM``)."""
WRITE_BUFFER = 1 << 16


class ExactReader(io.RawIOBase):
    """Reads what was read ahead, then from the file: never more than is asked for, since what follows the data is not
    ours."""

    def __init__(self, file: int, prefix: bytes = b"") -> None:
        self._file = file
        self._prefix = memoryview(prefix)
        self.consumed = 0
        """bytes of the prefix"""
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def at_end(self) -> bool:
        """Whether nothing comes any more; waits until that is known."""
        if self.consumed < len(self._prefix):
            return False
        first = os.read(self._file, 1)
        self._ahead += first
        return not first

    def read(self, size: int = -1) -> bytes:
        assert size >= 0, "the end of this stream is not the end of the file"
        known = bytes(self._prefix[self.consumed : self.consumed + size])
        self.consumed += len(known)
        if len(known) < size and self._ahead:
            known, self._ahead = known + self._ahead, b""  # a single byte
        if len(known) == size:
            return known
        parts, missing = [known], size - len(known)
        while missing:
            part = os.read(self._file, min(missing, 1 << 20))
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def read_batches(reader: ExactReader) -> Iterator[pa.RecordBatch]:
    """The batches of a stream, with their fields as columns."""
    if reader.at_end():
        return  # of a writer that had no batch
    for batch in pa.ipc.open_stream(reader):
        yield _flat(batch)


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns == 1 and pa.types.is_struct(batch.schema.field(0).type):
        return pa.RecordBatch.from_struct_array(batch.column(0))
    return batch


class BatchWriter:
    """Writes a stream, for Spark's JVM if it is ``wrapped``: one column that has the others as fields.

    Nothing is written before there is a batch, so that an error before can still be told.
    """

    def __init__(self, file: int, wrapped: bool) -> None:
        self._file = io.BufferedWriter(io.FileIO(file, "wb", closefd=False), WRITE_BUFFER)
        self._wrapped = wrapped
        self._writer: Any = None

    @property
    def begun(self) -> bool:
        return self._writer is not None

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            self._write(_wrapped(batch) if self._wrapped else batch)
        if self._writer is not None:
            self._writer.close()
        self._file.flush()

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            if self._wrapped:
                self._file.write(START)
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)


def _wrapped(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([batch.to_struct_array()], ["_0"])
