"""Many rows, some at a time: what is made of them need not be in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace.runtime.tables.columns.keys import Ids

PIECE = 200_000
"""Rows that are taken at a time."""


def pieces(numbers: Ids) -> Iterator[Ids]:
    """The numbers, some at a time."""
    return (numbers[start : start + PIECE] for start in range(0, len(numbers), PIECE))


def pieces_of_groups(codes: Any) -> Iterator[Ids]:
    """Positions by code, those of a code in their order and in one piece."""
    order = np.argsort(codes, kind="stable")
    begins = np.flatnonzero(np.diff(codes[order])) + 1
    # The first beginning at or behind each multiple; a large group may reach over several of them.
    wanted = np.searchsorted(begins, np.arange(PIECE, len(order), PIECE))
    cuts = begins[np.unique(wanted[wanted < len(begins)])]
    return (part for part in np.split(order, cuts) if len(part))
