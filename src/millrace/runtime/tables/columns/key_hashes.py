"""The stable hashes of keys for whole columns: the same as ``exchange.keys`` computes for the tuple of a row's values.

Numbers are hashed as columns, everything else value by value, each distinct value once.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.runtime.exchange.keys import MASK, Hashes, integer_hashes, stable_hash, subtasks_of
from millrace.runtime.tables.columns.keys import Ids, hashable_values

_TUPLE = 2
"""tag that begins the hash of a tuple"""
_NULL = stable_hash(None)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def key_hashes(columns: Sequence[pa.Array], length: int, begun: Hashes | None = None) -> Hashes:
    """``stable_hash`` of each row's key, the tuple of its values.

    :param begun: the hashes of preceding columns.
    """
    found = np.full(length, _TUPLE, np.uint64) if begun is None else begun
    for column in columns:
        found = (found * np.uint64(31) + _column_hashes(column)) & MASK
    return found


def key_subtasks(columns: Sequence[pa.Array], length: int, max_parallelism: int, parallelism: int) -> Ids:
    """The subtask that each row's key belongs to."""
    return subtasks_of(key_hashes(columns, length), max_parallelism, parallelism)


def row_hashes(columns: Sequence[pa.Array], length: int) -> Hashes:
    """A hash of 32 bits for each row, equal for rows that are equal in all columns: to find rows in memory.

    It is no ``stable_hash``: numbers and times are hashed by their bytes, without Python for each distinct value.
    """
    found = np.full(length, _TUPLE, np.uint64)
    for column in columns:
        found = (found ^ _quick_hashes(column)) * _MULTIPLIER
        found ^= found >> np.uint64(29)
    narrow: Hashes = found >> np.uint64(32)
    return narrow


def _quick_hashes(column: pa.Array) -> Hashes:
    kind = column.type
    width = kind.bit_width if pa.types.is_primitive(kind) or pa.types.is_decimal128(kind) else 0
    if width not in (8, 16, 32, 64, 128) or not len(column):
        return _column_hashes(column)
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_floating(kind):
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # -0.0 becomes 0.0
        found = numbers.view(np.uint64)
        found[np.isnan(numbers)] = _NULL + 1
    elif width == 128:
        words = np.frombuffer(column.buffers()[1], np.uint64, 2 * len(column), column.offset * 16).reshape(-1, 2)
        found = words[:, 0] ^ (words[:, 1] * _MULTIPLIER)
    else:
        found = np.frombuffer(column.buffers()[1], f"u{width // 8}", len(column), column.offset * width // 8)
        found = found.astype(np.uint64)
    if missing is not None:
        found[missing] = _NULL
    hashes: Hashes = found
    return hashes


def _column_hashes(column: pa.Array) -> Hashes:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_signed_integer(kind) or pa.types.is_boolean(kind):
        numbers = column.cast(pa.int64())
        missing = numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None
        found = integer_hashes(pc.fill_null(numbers, 0).to_numpy())
        if missing is not None:
            found[missing] = _NULL
        return found
    if pa.types.is_nested(kind):
        return np.array(list(map(stable_hash, hashable_values(column))), np.uint64)
    encoded = column.dictionary_encode("encode")
    hashes: Hashes = _value_hashes(encoded.dictionary)[encoded.indices.to_numpy(zero_copy_only=False)]
    return hashes


def _value_hashes(values: pa.Array) -> Hashes:
    if pa.types.is_string(values.type) and not values.null_count:
        return np.array(list(map(zlib.crc32, values.cast(pa.binary()).to_pylist())), np.uint64)
    return np.array(list(map(stable_hash, hashable_values(values))), np.uint64)
