"""What one subtask has for the receivers of an edge: gathered until packets of a good size can be made of it.

The watermarks and status changes of a sender go to every target that it can reach: they are kept once, and targets for
which there is nothing else share their bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from millrace.relational.rows import count
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Mark, encode
from millrace.runtime.exchange.held_bytes import HeldBytes, Weigher
from millrace.runtime.exchange.marks import PlacedMark, add_mark, marks_of_targets, together
from millrace.runtime.exchange.partitioners import Broadcast, ElementWise, Partitioner, Router
from millrace.runtime.exchange.scatter import Assigner, parts
from millrace.runtime.pieces import slice_chunk

FLUSH_AT = 16_384
"""Elements that a sender gathers for one target before it makes a packet of them."""
HELD = 8 * FLUSH_AT
"""Elements that a sender holds for all targets of an edge together: with more than 8 the packets become smaller."""
HELD_BYTES = 64 * 1024 * 1024
"""About how many bytes these may take as packets; see ``held_bytes.py``."""


class Part(NamedTuple):
    """What leaves an outbox at once."""

    targets: Sequence[int]
    """each gets all of it"""
    chunk: Chunk
    marks: list[PlacedMark]


class Outbox(ABC):
    """What waits for the receivers of one edge."""

    @abstractmethod
    def add(self, chunk: Chunk) -> Iterable[Part]:
        """One more chunk; what shall leave now."""

    @abstractmethod
    def mark(self, mark: Mark) -> None:
        """A watermark or a status change, for every reachable target."""

    @abstractmethod
    def rest(self) -> Iterator[Part]:
        """Everything that waits."""


def outbox_for(partitioner: Partitioner, subtask: int, senders: int, receivers: int) -> Outbox:
    """What suits the partitioner."""
    targets = partitioner.targets(subtask, senders, receivers)
    if isinstance(partitioner, ElementWise):
        return ScatteringOutbox(partitioner.assigner(subtask, senders, receivers), len(targets))
    if isinstance(partitioner, Broadcast):
        return CopyingOutbox(targets)
    return RoutingOutbox(partitioner.router(subtask, senders, receivers), targets)


class Gathered:
    """Chunks that became one, with the marks between its elements."""

    __slots__ = ("keys", "marks", "size", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] | None = None
        self.keys: list[Any] | None = None
        self.marks: list[PlacedMark] = []
        self.size = 0
        """elements and marks; of batches of rows it is the rows"""

    @property
    def chunk(self) -> Chunk:
        return Chunk(self.values, self.timestamps, self.keys)

    def mark(self, mark: Mark) -> None:
        self.size += 1
        add_mark(self.marks, len(self.values), mark)

    def add(self, chunk: Chunk) -> None:
        before = len(self.values)
        self.size += count(chunk.values)
        if chunk.timestamps is not None and self.timestamps is None:
            self.timestamps = [None] * before
        if not before:
            self.values = list(chunk.values)
            self.timestamps = None if chunk.timestamps is None else list(chunk.timestamps)
            self.keys = None if chunk.keys is None else list(chunk.keys)
            return
        self.values.extend(chunk.values)
        if self.timestamps is not None:
            self.timestamps.extend(chunk.timestamps or [None] * len(chunk.values))
        if self.keys is not None and chunk.keys is not None:
            self.keys.extend(chunk.keys)


class ScatteringOutbox(Outbox):
    """Gathers for all targets together and splits late: small chunks for many targets cost no more than large ones."""

    def __init__(self, assigner: Assigner, targets: int) -> None:
        self._assigner = assigner
        self._limit = min(FLUSH_AT * targets, HELD)
        self._gathered = Gathered()
        self._weight = HeldBytes(HELD_BYTES)

    def add(self, chunk: Chunk) -> Iterable[Part]:
        gathered = self._gathered
        gathered.add(self._assigner.assign(chunk))
        size = gathered.size
        if size >= self._limit or (size >= self._weight.look_at and self._weight.is_much(gathered.values, size)):
            return self.rest()
        return ()

    def mark(self, mark: Mark) -> None:
        self._gathered.mark(mark)

    def rest(self) -> Iterator[Part]:
        gathered, self._gathered = self._gathered, Gathered()
        self._weight.start()
        scatter = self._assigner.scatter(gathered.chunk)
        if not gathered.values:
            yield from _only_marks(scatter.targets, gathered.marks)
            return
        placed = marks_of_targets(gathered.marks, scatter)
        for target, part, marks in zip(scatter.targets, parts(gathered.chunk, scatter), placed):
            if part.values:
                yield Part((target,), part, marks)
        yield from _only_marks([t for t, n in zip(scatter.targets, scatter.counts) if not n], gathered.marks)


class CopyingOutbox(Outbox):
    """All targets get the same."""

    def __init__(self, targets: Sequence[int]) -> None:
        self._targets = targets
        self._gathered = Gathered()
        self._weight = HeldBytes(HELD_BYTES)

    def add(self, chunk: Chunk) -> Iterable[Part]:
        gathered = self._gathered
        gathered.add(chunk)
        size = gathered.size
        if size >= FLUSH_AT or (size >= self._weight.look_at and self._weight.is_much(gathered.values, size)):
            return self.rest()
        return ()

    def mark(self, mark: Mark) -> None:
        self._gathered.mark(mark)

    def rest(self) -> Iterator[Part]:
        gathered, self._gathered = self._gathered, Gathered()
        self._weight.start()
        if gathered.values or gathered.marks:
            yield Part(self._targets, gathered.chunk, gathered.marks)


class RoutingOutbox(Outbox):
    """For routers that split whole chunks, as those of batches of rows: each target gathers for itself."""

    def __init__(self, route: Router, targets: Sequence[int]) -> None:
        self._route = route
        self._targets = targets
        self._chunks = 0
        self._waiting: dict[int, Gathered] = {}
        """target -> elements for it"""
        self._size = 0
        self._bytes = 0.0
        """about what these take as packets"""
        self._weigher = Weigher()
        self._marks: list[PlacedMark] = []
        """by the number of chunks before them"""
        self._heard: dict[int, int] = {}
        """target -> how many of the marks lie among its elements"""

    def add(self, chunk: Chunk) -> Iterable[Part]:
        self._chunks += 1
        self._bytes += self._weigher.weigh(chunk.values)
        full = [target for target, part in self._route(chunk) if part.values and self._put(target, part) >= FLUSH_AT]
        if self._size + len(self._marks) >= HELD or self._bytes >= HELD_BYTES:
            return self.rest()
        return [self._take(target) for target in full]

    def mark(self, mark: Mark) -> None:
        add_mark(self._marks, self._chunks, mark)

    def rest(self) -> Iterator[Part]:
        only_marks: dict[int, list[int]] = {}
        for target in self._targets:
            if target in self._waiting:
                yield self._take(target)
            else:
                only_marks.setdefault(self._heard.get(target, 0), []).append(target)
        marks, self._marks, self._heard = self._marks, [], {}
        for heard, targets in only_marks.items():
            yield from _only_marks(targets, marks[heard:])

    def _put(self, target: int, part: Chunk) -> int:
        """How much waits for the target now."""
        gathered = self._waiting.get(target)
        if gathered is None:
            gathered = self._waiting[target] = Gathered()
        before = gathered.size
        self._tell(target, gathered)
        gathered.add(part)
        self._size += gathered.size - before
        return gathered.size

    def _take(self, target: int) -> Part:
        gathered = self._waiting.pop(target)
        self._bytes *= 1 - gathered.size / max(self._size, 1)
        self._size -= gathered.size
        self._tell(target, gathered)
        return Part((target,), gathered.chunk, gathered.marks)

    def _tell(self, target: int, gathered: Gathered) -> None:
        for _, mark in self._marks[self._heard.get(target, 0) :]:
            gathered.mark(mark)
        self._heard[target] = len(self._marks)


def _only_marks(targets: Sequence[int], marks: list[PlacedMark]) -> Iterator[Part]:
    if targets and marks:
        yield Part(targets, Chunk([]), together(marks))


def encoded(chunk: Chunk, marks: list[PlacedMark]) -> Iterator[bytes]:
    """Packets of about the same size, as few as may be: one target may have got nearly all that was gathered."""
    length = len(chunk.values)
    size = -(-length // max(1, round(length / FLUSH_AT)))
    if size >= length:
        yield encode(chunk, marks)
        return
    for start in range(0, length, size):
        end = start + size
        here = [(at - start, mark) for at, mark in marks if start <= at < end or (at == length and end >= length)]
        yield encode(slice_chunk(chunk, start, end), here)
