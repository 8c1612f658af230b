"""Divides many rows into pieces, so that what is computed from them need not be in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace.runtime.tables.columns.keys import Ids

PIECE = 200_000
"""The number of rows in a piece."""


def pieces(numbers: Ids) -> Iterator[Ids]:
    """The numbers in pieces."""
    return (numbers[start : start + PIECE] for start in range(0, len(numbers), PIECE))


def pieces_of_groups(codes: Any) -> Iterator[Ids]:
    """Indexes ordered by code, in pieces; the indexes of one code are in order and in one piece."""
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order])) + 1
    # Pieces end at the first group that begins at or after each multiple; a large group may span several multiples.
    wanted = np.searchsorted(begins, np.arange(PIECE, len(order), PIECE))
    cuts = begins[np.unique(wanted[wanted < len(begins)])]
    return (part for part in np.split(order, cuts) if len(part))
