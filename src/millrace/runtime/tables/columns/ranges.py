"""Ranges of indexes, and where one of equal neighbours begins, without a loop. Imports no Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

Ids = np.ndarray[Any, np.dtype[np.int64]]


def begins(values: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each element whether it differs from the one before it, as numpy Booleans; the first one does."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def ranges(starts: Any, counts: Any) -> tuple[Ids, Ids]:
    """For each i the indexes ``starts[i] ... starts[i] + counts[i] - 1``: (i of each, each index)."""
    counts = np.asarray(counts, np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owners, np.arange(len(owners)) - np.repeat(before - np.asarray(starts, np.int64), counts)
