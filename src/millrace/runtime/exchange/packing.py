"""Batches of rows as the bytes of a packet: one Arrow stream, with the row kinds and marks before it."""

from __future__ import annotations

import marshal
import struct
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, concat

M = TypeVar("M")

_ALIGNMENT = 8
_LENGTH = struct.Struct("<I")
_TAG = 1
"""bytes of the tag that the caller tells its packets by"""


def merge(values: Sequence[Rows], marks: list[tuple[int, M]]) -> tuple[list[Rows], list[tuple[int, M]]]:
    """The batches between two marks as one: many small ones would travel and be worked on at their own cost each."""
    batches: list[Rows] = []
    moved: list[tuple[int, M]] = []
    start = 0
    for position, mark in marks:
        if position > start:
            batches.append(concat(values[start:position]))
            start = position
        moved.append((len(batches), mark))
    if start < len(values):
        batches.append(concat(values[start:]))
    return batches, moved


def pack(tag: bytes, batches: Sequence[Rows], statuses: list[Any]) -> bytes:
    """A packet of batches with the same columns, and what else is in it (plain values). Columns are read where they
    lie, so they are aligned."""
    kinds = [None if rows.kinds is None else rows.kinds.tobytes() for rows in batches]
    header = marshal.dumps((statuses, kinds))
    padding = bytes(-(_TAG + _LENGTH.size + len(header)) % _ALIGNMENT)
    sink = pa.BufferOutputStream()
    schema = batches[0].batch.schema
    with pa.ipc.new_stream(sink, schema) as writer:
        for rows in batches:
            writer.write_batch(rows.batch)
    return b"".join((tag, _LENGTH.pack(len(header) + len(padding)), header, padding, sink.getvalue()))


def unpack(payload: bytes) -> tuple[list[Any], list[Any]]:
    """(batches, statuses) of a whole packet, its tag included."""
    begin = _TAG + _LENGTH.size
    (length,) = _LENGTH.unpack_from(payload, _TAG)
    statuses, kinds = marshal.loads(memoryview(payload)[begin : begin + length])
    with pa.ipc.open_stream(pa.py_buffer(payload).slice(begin + length)) as reader:
        batches = list(reader)
    values = [
        Rows(batch, None if kind is None else np.frombuffer(kind, np.uint8)) for batch, kind in zip(batches, kinds)
    ]
    return values, statuses
