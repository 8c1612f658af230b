"""All elements of one key that has more than memory holds, in the order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple

from millrace.runtime.batch.elements import ROUND, Elements, KeyedChunk
from millrace.runtime.batch.scratch import scratch_file
from millrace.runtime.elements import MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.codec import decode, decode_columns, encode

SEGMENT = 4_096
"""Elements of a run that are in memory at a time while runs are merged."""

Element = tuple[int, int | None, int, Any]
"""(time to sort by, timestamp, input, value)"""


class _Run(NamedTuple):
    """Elements in the order of time."""

    places: tuple[tuple[int, int], ...]
    """(offset, size) of its segments in the file"""
    first: int
    """time of the first element"""
    last: int


def in_order(payloads: Iterable[tuple[int, bytes]], run_bytes: int) -> Iterator[KeyedChunk]:
    """The elements of encoded chunks (each with its input), all of one key: sorted runs go to a file and are merged.

    :param run_bytes: how much (encoded) is sorted at a time.
    """
    with scratch_file() as file:
        key, runs = None, []
        for elements in _gathered(payloads, run_bytes):
            [(chunk, inputs, _)] = elements.by_key()
            key = (chunk.keys or [None])[0]
            runs.append(_write(file, chunk, inputs or [0] * len(chunk)))
        parts = [_read(file, run) for run in runs]
        if all(before.last <= after.first for before, after in pairwise(runs)):
            merged: Iterator[Element] = chain.from_iterable(parts)
        else:  # elements of the same time stay in the order of the runs
            merged = heapq.merge(*parts, key=itemgetter(0))
        group = list(islice(merged, ROUND))
        while group:
            following = list(islice(merged, ROUND))
            yield _keyed(key, group, complete=not following)
            group = following


def _gathered(payloads: Iterable[tuple[int, bytes]], run_bytes: int) -> Iterator[Elements]:
    elements, size = Elements(), 0
    for input, payload in payloads:
        elements.add(input, decode_columns(payload)[0])
        size += len(payload)
        if size >= run_bytes:
            yield elements
            elements, size = Elements(), 0
    if size:
        yield elements


def _write(file: BinaryIO, chunk: Chunk, inputs: list[int]) -> _Run:
    places = []
    for start in range(0, len(chunk), SEGMENT):
        part = slice(start, start + SEGMENT)
        times = None if chunk.timestamps is None else chunk.timestamps[part]
        payload = encode(Chunk(chunk.values[part], times, inputs[part]), [])
        places.append((file.tell(), len(payload)))
        file.write(payload)
    ends = (None, None) if chunk.timestamps is None else (chunk.timestamps[0], chunk.timestamps[-1])
    first, last = (MIN_TIMESTAMP if time is None else time for time in ends)
    return _Run(tuple(places), first, last)


def _read(file: BinaryIO, run: _Run) -> Iterator[Element]:
    for offset, size in run.places:
        file.seek(offset)
        for chunk in decode(file.read(size)):
            assert isinstance(chunk, Chunk)
            times = chunk.timestamps or [None] * len(chunk)
            order = [MIN_TIMESTAMP if time is None else time for time in times]
            yield from zip(order, times, chunk.keys or (), chunk.values)


def _keyed(key: Any, elements: list[Element], complete: bool) -> KeyedChunk:
    _, times, inputs, values = zip(*elements)
    timestamps = None if times.count(None) == len(times) else list(times)
    chunk = Chunk(list(values), timestamps, [key] * len(values))
    return KeyedChunk(chunk, list(inputs) if any(inputs) else None, complete)
