"""Blocks of text cut into lines, or into records whose fields may hold line ends, as Arrow arrays of bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

_LINE_END, _RETURN = 0x0A, 0x0D


@dataclass(frozen=True)
class Quotes:
    """How fields are quoted. A line end between two quotes is part of a field."""

    quote: bytes
    escape: bytes | None = None
    """what takes the meaning from the character behind it"""


@dataclass(frozen=True)
class MessageLines:
    """How the messages of a file lie in it."""

    quotes: Quotes | None = None
    """how a field can hold line ends; None: a line end always ends a message"""
    blank: bool = False
    """whether an empty line is a message"""
    headless: bool = False
    """whether the first line of a file is no message"""
    marked: bool = True
    """whether a mark (BOM) at the beginning of a file says its encoding"""
    returns: bool = False
    """whether a lone ``\\r`` ends a line"""


def lines_of(block: bytes, returns: bool = False) -> pa.Array:
    """The lines of a block, without their ends (``\\n`` or ``\\r\\n``).

    :param returns: whether a lone ``\\r`` ends a line, too.
    """
    data = np.frombuffer(block, np.uint8)
    return _cut(block, data, _line_ends(block, data, returns))


def records_of(block: bytes, quotes: Quotes, whole: bool) -> tuple[pa.Array, int]:
    """(the records, where the last one ends). They end with ``\\n``, ``\\r\\n`` or ``\\r``; what follows the last one
    belongs to a record that goes on in the next block.

    :param whole: nothing follows, so what is left is a record, too.
    """
    data = np.frombuffer(block, np.uint8)
    ends = _line_ends(block, data, True)
    if quotes.quote in block:
        # A quote inside a quoted field is written twice, so outside of quotes their number is even.
        opened = np.searchsorted(_quote_places(block, data, quotes), ends)
        ends = ends[opened % 2 == 0]
    if whole:
        return _cut(block, data, ends), len(block)
    end = int(ends[-1]) + 1 if len(ends) else 0
    return _cut(block[:end], data[:end], ends), end


def _line_ends(block: bytes, data: Any, returns: bool) -> Any:
    """The places of the last bytes of lines."""
    if not returns or b"\r" not in block:
        return np.flatnonzero(data == _LINE_END)
    before_line_end = np.append(data[1:] == _LINE_END, False)
    return np.flatnonzero((data == _LINE_END) | ((data == _RETURN) & ~before_line_end))


def _quote_places(block: bytes, data: Any, quotes: Quotes) -> Any:
    if quotes.escape is None or quotes.escape not in block:
        return np.flatnonzero(data == quotes.quote[0])
    escaped = re.compile(re.escape(quotes.escape) + b"." + b"|" + re.escape(quotes.quote), re.DOTALL)
    return np.array([found.start() for found in escaped.finditer(block) if found[0] == quotes.quote], np.int64)


def _cut(block: bytes, data: Any, ends: Any) -> pa.Array:
    """The pieces of a block between line ends; a last piece without end counts if it is not empty."""
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(block)]])
    if starts[-1] == stops[-1]:
        starts, stops = starts[:-1], stops[:-1]
    if not len(starts):
        return pa.array([], pa.binary())
    before_line_end = (stops == len(data)) | (data[np.minimum(stops, len(data) - 1)] == _LINE_END)
    returns = before_line_end & (stops > starts) & (data[np.maximum(stops - 1, 0)] == _RETURN)
    stops = stops - returns
    # Every second element is what lies between two lines.
    offsets = np.empty(2 * len(starts) + 1, np.int32)
    offsets[0:-1:2], offsets[1:-1:2], offsets[-1] = starts, stops, stops[-1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    both = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
    return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))
