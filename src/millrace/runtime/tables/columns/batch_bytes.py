"""Serializes batches for deltas of state."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def to_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch as bytes. A pickle would contain whole buffers, of which the batch may be a small part."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def types_as_bytes(types: Sequence[pa.DataType]) -> bytes:
    """The types of columns as bytes."""
    data: bytes = pa.schema([(str(place), kind) for place, kind in enumerate(types)]).serialize().to_pybytes()
    return data


def types_of(data: bytes) -> list[pa.DataType]:
    return list(pa.ipc.read_schema(pa.py_buffer(data)).types)
