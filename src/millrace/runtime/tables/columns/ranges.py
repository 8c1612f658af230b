"""Ranges of indexes, one after the other, without a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

Ids = np.ndarray[Any, np.dtype[np.int64]]


def ranges(starts: Any, counts: Any) -> tuple[Ids, Ids]:
    """For each i the indexes ``starts[i] ... starts[i] + counts[i] - 1``: (i of each, each index)."""
    counts = np.asarray(counts, np.int64)
    owners = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return owners, np.arange(len(owners)) - np.repeat(before - np.asarray(starts, np.int64), counts)
