"""Stable hashes for many values at once: what ``keygroups`` computes for each."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[np.int64]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
"""32 bit numbers in 64 bits, so that products do not overflow"""

MASK = np.uint64(0xFFFFFFFF)
_BYTE = np.uint64(0xFF)


def integer_hashes(values: Integers) -> Hashes:
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
    found: Hashes = np.full(len(values), MASK, np.uint64)
    for place in reversed(range(int(width.max(initial=1)))):
        # The ninth byte of the smallest number is its sign.
        byte = (values >> min(8 * place, 63)).view(np.uint64) & _BYTE
        after = table[((found ^ byte) & _BYTE).astype(np.intp)] ^ (found >> np.uint64(8))
        found = np.where(place < width, after, found)
    found ^= MASK
    return found


@cache
def _crc_table() -> Hashes:
    """What each byte does to a CRC-32."""
    found = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        found = np.where(found & np.uint64(1), np.uint64(0xEDB88320), np.uint64(0)) ^ (found >> np.uint64(1))
    return found


def subtasks_of(hashes: Hashes, max_parallelism: int, parallelism: int) -> Integers:
    """The subtask that each hash belongs to, as ``key_group`` and ``subtask_of_group`` say it."""
    return groups_of(hashes, max_parallelism) * parallelism // max_parallelism


def groups_of(hashes: Hashes, max_parallelism: int) -> Integers:
    """The key group that each hash belongs to."""
    value = hashes ^ (hashes >> np.uint64(16))
    value = (value * np.uint64(0x85EBCA6B)) & MASK
    value = value ^ (value >> np.uint64(13))
    value = (value * np.uint64(0xC2B2AE35)) & MASK
    value = value ^ (value >> np.uint64(16))
    found: Integers = (value % np.uint64(max_parallelism)).astype(np.int64)
    return found
