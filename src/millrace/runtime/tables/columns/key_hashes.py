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
