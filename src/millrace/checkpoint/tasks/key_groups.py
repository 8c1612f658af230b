"""The key groups of many keys at once: what ``runtime.exchange.keygroups`` says about each of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from millrace.runtime.exchange.keygroups import stable_hash

__all__ = ["key_groups"]

Hashes = Any
"""an array of uint64 with values of 32 bits"""

_MASK = np.uint64(0xFFFFFFFF)
_TUPLE_SEED = 2


def key_groups(keys: Sequence[Any], max_parallelism: int) -> Any:
    """An array of int32. Raises ``UnstableKeyError`` for keys that have no group."""
    return (_mix(_hashes(keys)) % np.uint64(max_parallelism)).astype(np.int32)


def _hashes(keys: Sequence[Any]) -> Hashes:
    types = set(map(type, keys))
    if types == {int}:
        try:
            return _of_integers(np.fromiter(keys, np.int64, len(keys)))
        except OverflowError:
            pass
    elif types == {str}:
        try:
            found = map(zlib.crc32, map(str.encode, keys))
            return np.fromiter(found, np.uint64, len(keys))
        except UnicodeEncodeError:
            pass
    elif types == {tuple} and len(set(map(len, keys))) == 1:
        result = np.full(len(keys), _TUPLE_SEED, np.uint64)
        for place in range(len(keys[0])):
            result = (result * np.uint64(31) + _hashes(list(map(itemgetter(place), keys)))) & _MASK
        return result
    return np.fromiter(map(stable_hash, keys), np.uint64, len(keys))


def _crc_table() -> Any:
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = np.where(table & np.uint64(1), (table >> np.uint64(1)) ^ np.uint64(0xEDB88320), table >> np.uint64(1))
    return table


_TABLE = _crc_table()


def _of_integers(keys: Any) -> Hashes:
    """CRC-32 of the bytes of each number, the highest first, as many as it needs with its sign."""
    size = np.where(keys < 0, ~keys, keys).view(np.uint64)
    # ~n has as many bits as -n, but for powers of two, where it has one less.
    magnitude = np.where(keys < 0, size + np.uint64(1), size)
    result = np.empty(len(keys), np.uint64)
    for length in range(1, 10):
        lowest = 0 if length == 1 else 1 << (8 * length - 9)
        chosen = magnitude >= np.uint64(lowest)
        if length < 9:
            chosen &= magnitude < np.uint64(1 << (8 * length - 1))
        places = np.flatnonzero(chosen)
        if len(places):
            result[places] = _crc(keys[places], length)
    return result


def _crc(keys: Any, length: int) -> Hashes:
    crc = np.full(len(keys), _MASK)
    for place in range(length - 1, -1, -1):
        byte = (keys >> np.int64(min(8 * place, 63))).view(np.uint64) & np.uint64(0xFF)
        crc = _TABLE[((crc ^ byte) & np.uint64(0xFF)).astype(np.int64)] ^ (crc >> np.uint64(8))
    return crc ^ _MASK


def _mix(value: Hashes) -> Hashes:
    value = value ^ (value >> np.uint64(16))
    value = (value * np.uint64(0x85EBCA6B)) & _MASK
    value = value ^ (value >> np.uint64(13))
    value = (value * np.uint64(0xC2B2AE35)) & _MASK
    return value ^ (value >> np.uint64(16))
