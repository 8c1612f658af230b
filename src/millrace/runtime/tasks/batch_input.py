"""Buffers the input of a keyed operator in a batch job, and gives it to the operator key by key when all of it is
there.

Memory is bounded: further elements go to a file that is divided by a hash of the keys, and is then processed part by
part. A part that is still too large is divided again by another hash. A single key with more elements than fit into
memory is merged from sorted runs, in the order of time.
"""

from __future__ import annotations

import heapq
import os
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import Any, BinaryIO, NamedTuple, cast

from millrace.runtime.bases.batch_operators import ByKey
from millrace.runtime.elements import MIN_TIMESTAMP, Chunk
from millrace.runtime.exchange.codec import Mark, Packed, decode, decode_columns, encode
from millrace.runtime.tasks.batch_columns import ROUND, Columns, Elements, KeyedChunk, positions, take
from millrace.runtime.tasks.waiting import Channel
from millrace.runtime.tasks.wiring import Gate

ENVIRONMENT = "SPARK_LOCAL_DIRS"
"""Environment variable with the directories of Spark's shuffle files, which Spark sets for its Python workers: a disk
chosen for temporary data."""


def scratch_file() -> BinaryIO:
    """A new unnamed file on the disk for temporary data: it is deleted when it is closed, or its process ends."""
    places = [place for place in os.environ.get(ENVIRONMENT, "").split(",") if os.access(place, os.W_OK)]
    return cast(BinaryIO, tempfile.TemporaryFile(dir=places[0] if places else None))


# Parts in a file

BUCKET_BITS = 6
BUCKETS = 2**BUCKET_BITS
"""The number of parts of one file; a part that is still too large is divided into as many again."""
HASH_BITS, GOLDEN = 64, 0x9E3779B97F4A7C15
LEVELS = 8
"""The most times that a part can be divided: beyond that its keys have the same hash."""
FLUSH_ELEMENTS, FLUSH_BYTES = 262_144, 4 * 1024 * 1024
"""The numbers of gathered elements and bytes at which all buckets are written to the file."""
HEAVY_SHARE = 8
"""A key with at least 1/``HEAVY_SHARE`` of the elements gets a bucket of its own, because no hash could divide it."""


class Segment(NamedTuple):
    """A piece of the file: one encoded chunk."""

    input: int
    offset: int
    size: int


class Part:
    """The elements of one bucket."""

    def __init__(self, file: Any, segments: list[Segment], one_key: bool) -> None:
        self._file = file
        self._segments = segments
        self.one_key = one_key
        """whether all elements have the same key"""

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """(input, encoded chunk): the inputs one after the other, each in the order of arrival."""
        for segment in sorted(self._segments, key=lambda segment: segment.input):
            self._file.seek(segment.offset)
            yield segment.input, self._file.read(segment.size)


class Buckets:
    """A file of elements, divided by key.

    :param level: how often the elements were divided before: every level uses another hash.
    :param sample: some of the keys.
    """

    def __init__(self, level: int, sample: list[Any]) -> None:
        self._level = level
        self._heavy = _heavy_key(sample)
        self._file = scratch_file()
        self._end = 0
        self._segments: list[list[Segment]] = [[] for _ in range(BUCKETS + 1)]
        self._waiting: dict[tuple[int, int], Columns] = {}
        """(bucket, input) -> elements"""
        self._elements = self._bytes = 0

    def add(self, input: int, elements: Packed, size: int) -> None:
        """Add elements; ``size`` is their approximate encoded size in bytes."""
        keys = elements.keys or []
        for bucket, places in positions(self._buckets_of(keys)).items():
            waiting = self._waiting.get((bucket, input))
            if waiting is None:
                waiting = self._waiting[bucket, input] = Columns()
            waiting.add(take(elements, places))
        self._elements += len(keys)
        self._bytes += size
        if self._elements >= FLUSH_ELEMENTS or self._bytes >= FLUSH_BYTES:
            self._flush()

    def _buckets_of(self, keys: list[Any]) -> list[int]:
        # Python's own hash is enough, since no other process reads the file. It follows equality, as in a dict. Each
        # level uses other bits of its product with the golden ratio, because neighbouring numbers are hashes of
        # themselves.
        shift, heavy = HASH_BITS - BUCKET_BITS * (self._level + 1), self._heavy
        buckets = [(hash(key) * GOLDEN >> shift) % BUCKETS for key in keys]
        if heavy:
            buckets = [BUCKETS if key in heavy else bucket for key, bucket in zip(keys, buckets)]
        return buckets

    def _flush(self) -> None:
        for (bucket, input), elements in self._waiting.items():
            payload = elements.whole().encode()
            self._file.write(payload)
            self._segments[bucket].append(Segment(input, self._end, len(payload)))
            self._end += len(payload)
        self._waiting = {}
        self._elements = self._bytes = 0

    def parts(self) -> Iterator[Part]:
        """All elements, part by part; no key is in two parts."""
        self._flush()
        for bucket, segments in enumerate(self._segments):
            if segments:
                yield Part(self._file, segments, bucket == BUCKETS)

    def close(self) -> None:
        self._file.close()


def _heavy_key(sample: list[Any]) -> frozenset[Any]:
    """The key with the most elements, if it has a large share."""
    [(key, count)] = Counter(sample).most_common(1)
    return frozenset([key]) if count * HEAVY_SHARE >= len(sample) else frozenset()


# A key with more than memory holds

SEGMENT = 4_096
"""The number of elements of a run that are in memory while runs are merged."""

Element = tuple[int, int | None, int, Any]
"""(sort key of the time, timestamp, input, value)"""


class _Run(NamedTuple):
    """A sorted run: elements in the order of time."""

    places: tuple[tuple[int, int], ...]
    """(offset, size) of the run's segments in the file"""
    first: int
    """sort key of the first element's time"""
    last: int


def in_order(payloads: Iterable[tuple[int, bytes]], run_bytes: int) -> Iterator[KeyedChunk]:
    """Sort the elements of encoded chunks (each with its input), all of one key: sorted runs are written to a file and
    merged.

    :param run_bytes: encoded bytes that are sorted at a time.
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


# The input of an operator

HOLD_BYTES = 8 * 1024 * 1024
"""The encoded bytes that are in memory at a time; as objects the elements take twenty times as much, or more."""


class KeyedInput(ABC):
    """The keyed inputs of one operator, or a part of them.

    :param hold: how many encoded bytes may be in memory.
    :param level: how often they have been divided.
    """

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        assert isinstance(gate.operator, ByKey)
        self._gate = gate
        self._operator: ByKey = gate.operator
        self._hold = hold
        self._level = level
        self._cut: Buckets | None = None
        """the elements that did not fit into memory"""
        self._marks: list[tuple[Channel, Mark]] = []
        """marks of the channels; they are processed at the end, when a batch job has all its input"""

    @abstractmethod
    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        """Add the elements of a packet, or of the file of a larger part."""

    @abstractmethod
    def _finish(self) -> Iterator[None]:
        """Process the elements in memory; after that all others are in the file."""

    def run(self) -> Iterator[None]:
        """Process the input, when everything has arrived. Each ``yield`` lets the task pass on the results so far."""
        try:
            yield from self._finish()
            if self._cut is not None:
                for part in self._cut.parts():
                    yield from self._run_part(part)
            for channel, mark in self._marks:
                self._gate.mark(channel, mark)
                yield
        finally:
            self.close()

    def _run_part(self, part: Part) -> Iterator[None]:
        deeper = type(self)(self._gate, self._hold, self._level + 1)
        try:
            for input, payload in part.payloads():
                deeper.add(payload, input)
            yield from deeper.run()
        finally:
            deeper.close()

    def close(self) -> None:
        """Delete the files."""
        if self._cut is not None:
            self._cut.close()

    def _decoded(self, payload: bytes, channel: Channel | None) -> Packed:
        elements, marks = decode_columns(payload)
        if channel is not None:
            self._marks += [(channel, mark) for _, mark in marks]
        return elements

    def _put_aside(self, input: int, elements: Packed, size: int) -> None:
        if not elements.keys:
            return
        if self._cut is None:
            self._cut = Buckets(self._level, elements.keys)
        self._cut.add(input, elements, size)


class HeldInput(KeyedInput):
    """The input of operators that take one key after the other: nothing is processed before all of it is there."""

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        super().__init__(gate, hold, level)
        self._held: list[tuple[bytes, int, Channel | None]] = []
        self._size = 0

    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        self._held.append((payload, input, channel))
        self._size += len(payload)
        if self._size > self._hold and self._level + 1 < LEVELS:
            self._spill()

    def _spill(self) -> None:
        for payload, input, channel in self._held:
            self._put_aside(input, self._decoded(payload, channel), len(payload))
        self._held, self._size = [], 0

    def _finish(self) -> Iterator[None]:
        if self._cut is not None:
            self._spill()
            return
        elements = Elements()
        self._held.sort(key=lambda held: held[1])
        for payload, input, channel in self._held:
            elements.add(input, self._decoded(payload, channel))
        self._held = []
        for keyed in elements.by_key():
            self._give(keyed)
            yield

    def _run_part(self, part: Part) -> Iterator[None]:
        if not part.one_key:
            yield from super()._run_part(part)
            return
        for keyed in in_order(part.payloads(), self._hold):
            self._give(keyed)
            yield

    def _give(self, keyed: KeyedChunk) -> None:
        self._gate.records += len(keyed.chunk)
        self._operator.process_keys(keyed.chunk, keyed.inputs)
        self._operator.keyed_state().after_records(len(keyed.chunk))
        if keyed.complete:
            self._operator.end_keys()


class FoldedInput(KeyedInput):
    """The input of operators that fold the elements of a key, and emit the results at the end: elements are folded
    as they arrive. When the operator's state has become large it gets no new keys; elements of further keys are put
    aside."""

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        super().__init__(gate, hold, level)
        self._known: Collection[Any] | None = None
        """the keys that the operator has, once it gets no new ones; None: it still does"""

    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        elements = self._decoded(payload, channel)
        if not elements.keys:
            return
        if self._known is not None:
            self._sort_out(elements, input, self._known, len(payload))
            return
        self._gate.chunk(_chunk(elements), input)
        if self._operator.folded_entries() * len(payload) > self._hold * len(elements.keys):
            self._known = self._operator.folded_keys()

    def _sort_out(self, elements: Packed, input: int, known: Collection[Any], size: int) -> None:
        old: list[int] = []
        new: list[int] = []
        for place, key in enumerate(elements.keys or ()):
            (old if key in known else new).append(place)
        if old:
            self._gate.chunk(_chunk(take(elements, old)), input)
        if new:
            self._put_aside(input, take(elements, new), size)

    def _finish(self) -> Iterator[None]:
        self._operator.end_keys()
        yield


def _chunk(elements: Packed) -> Chunk:
    return Chunk(elements.values(), elements.timestamps, elements.keys)


def keyed_input(gate: Gate, hold: int) -> KeyedInput:
    """The input for the operator behind a gate."""
    assert isinstance(gate.operator, ByKey)
    return (FoldedInput if gate.operator.folds else HeldInput)(gate, hold)
