"""The stable hashes of keys, for whole columns: what ``keygroups`` computes for the tuple of a row's values.

Numbers are hashed as columns, everything else value by value, each different one once.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.runtime.keygroups import stable_hash
from millrace.runtime.tables.keys import Ids, hashable_values

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
"""32 bit numbers in 64 bits, so that products do not overflow"""

_MASK = np.uint64(0xFFFFFFFF)
_BYTE = np.uint64(0xFF)
_TUPLE = 2
"""what the hash of a tuple begins with"""
_NULL = stable_hash(None)


def key_hashes(columns: Sequence[pa.Array], length: int, begun: Hashes | None = None) -> Hashes:
    """``stable_hash`` of each row's key, the tuple of its values.

    :param begun: the hashes of the values before these.
    """
    found = np.full(length, _TUPLE, np.uint64) if begun is None else begun
    for column in columns:
        found = (found * np.uint64(31) + _column_hashes(column)) & _MASK
    return found


def key_subtasks(columns: Sequence[pa.Array], length: int, max_parallelism: int, parallelism: int) -> Ids:
    """The subtask that each row's key belongs to."""
    value = key_hashes(columns, length)
    # The finaliser of MurmurHash3, as in ``keygroups``.
    value = value ^ (value >> np.uint64(16))
    value = (value * np.uint64(0x85EBCA6B)) & _MASK
    value = value ^ (value >> np.uint64(13))
    value = (value * np.uint64(0xC2B2AE35)) & _MASK
    value = value ^ (value >> np.uint64(16))
    groups = value % np.uint64(max_parallelism)
    found: Ids = (groups * np.uint64(parallelism) // np.uint64(max_parallelism)).astype(np.int64)
    return found


def _column_hashes(column: pa.Array) -> Hashes:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_signed_integer(kind) or pa.types.is_boolean(kind):
        numbers = column.cast(pa.int64())
        missing = numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None
        found = _integer_hashes(pc.fill_null(numbers, 0).to_numpy())
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


def _integer_hashes(values: Ids) -> Hashes:
    """CRC-32 of the shortest two's complement form of each number, the highest byte first."""
    bits = values.view(np.uint64)
    size = np.where(values < 0, np.uint64(0) - bits, bits)
    width = np.ones(len(values), np.int8)
    for count in range(1, 9):
        longer = size >= np.uint64(1 << (8 * count - 1))
        if not longer.any():
            break
        width += longer
    table = _crc_table()
    found: Hashes = np.full(len(values), _MASK, np.uint64)
    for place in reversed(range(int(width.max(initial=1)))):
        # The ninth byte of the smallest number is its sign.
        byte = (values >> min(8 * place, 63)).view(np.uint64) & _BYTE
        after = table[((found ^ byte) & _BYTE).astype(np.intp)] ^ (found >> np.uint64(8))
        found = np.where(place < width, after, found)
    found ^= _MASK
    return found


@cache
def _crc_table() -> Hashes:
    """What each byte does to a CRC-32."""
    found = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        found = np.where(found & np.uint64(1), np.uint64(0xEDB88320), np.uint64(0)) ^ (found >> np.uint64(1))
    return found
