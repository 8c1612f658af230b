"""Columns of messages, read all at once where that is possible, and one by one near a message where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

FEW = 64
"""Up to so many messages are read and written one by one: all at once costs half a ms, be they few or many."""
_PIECE = 256
"""messages that are read one by one because one of them is unusual"""

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Piece:
    """Columns of messages."""

    columns: list[pa.Array]
    numbers: Numbers
    """for every row its message, ascending"""
    skipped: int = 0
    at_once: bool = False
    """whether they were read all at once"""


def is_few(count: int) -> bool:
    """Whether so many are read, or written, one by one."""
    return count <= FEW


def in_pieces(
    messages: pa.Array,
    numbers: Numbers,
    at_once: Callable[[pa.Array], list[pa.Array] | None],
    one_by_one: Callable[[list[bytes], Numbers], Piece],
) -> list[Piece]:
    """The columns of messages.

    :param numbers: of the messages.
    :param at_once: None if a message needs a closer look.
    """
    if is_few(len(messages)):
        return [one_by_one(messages.to_pylist(), numbers)]
    columns = at_once(messages)
    if columns is not None:
        return [Piece(columns, numbers, at_once=True)]
    if len(messages) <= _PIECE:
        return [one_by_one(messages.to_pylist(), numbers)]
    starts = range(0, len(messages), _PIECE)
    pieces = [in_pieces(messages.slice(at, _PIECE), numbers[at : at + _PIECE], at_once, one_by_one) for at in starts]
    return [piece for several in pieces for piece in several]


def joined(pieces: list[Piece]) -> Piece:
    """One piece of several, in the order of the messages."""
    if len(pieces) == 1:
        return pieces[0]
    columns = [pa.concat_arrays(each) for each in zip(*(piece.columns for piece in pieces))]
    numbers = np.concatenate([piece.numbers for piece in pieces])
    order = np.argsort(numbers, kind="stable")
    if (order[1:] < order[:-1]).any():
        columns, numbers = [column.take(pa.array(order)) for column in columns], numbers[order]
    return Piece(columns, numbers, sum(piece.skipped for piece in pieces))


def turned(rows: list[list[Any]], width: int) -> list[Any]:
    """Rows as columns."""
    return list(zip(*rows)) if rows else [()] * width
