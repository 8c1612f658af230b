"""The packed exchange: elements from one task to one subtask of a later stage travel as a few large binary packets.

A packet contains many elements in one piece of bytes, with the watermarks and status changes of its channel between
them. The packets of a channel are numbered, so that the receiver notices when one is missing or out of order.

An outbox gathers the elements of one subtask for the receivers of an edge, until packets of a good size can be made.
The watermarks and status changes of a sender go to every target that it can reach: they are stored once, and targets
without elements share their bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from millrace.relational.rows import count
from millrace.runtime.elements import Chunk, slice_chunk
from millrace.runtime.exchange.codec import HeldBytes, Mark, Weigher, encode
from millrace.runtime.exchange.partitioners import (
    Assigner,
    Broadcast,
    ElementWise,
    Numbers,
    Partitioner,
    Router,
    Scatter,
    parts,
)

# Watermarks and status changes for all targets

PlacedMark = tuple[int, Mark]
"""(number of elements before the mark, mark)"""


def add_mark(marks: list[PlacedMark], position: int, mark: Mark) -> None:
    """Append a mark. It replaces a watermark at the same position."""
    if marks and marks[-1][0] == position and isinstance(mark, int) and isinstance(marks[-1][1], int):
        marks.pop()
    marks.append((position, mark))


def together(marks: list[PlacedMark]) -> list[PlacedMark]:
    """The marks for a target that gets no elements."""
    said: list[PlacedMark] = []
    for _, mark in marks:
        add_mark(said, 0, mark)
    return said


def marks_of_targets(marks: list[PlacedMark], scatter: Scatter) -> list[list[PlacedMark]]:
    """The marks among the elements of each target that has elements, with their positions there."""
    if not marks:
        return [[] for _ in scatter.targets]
    before = scatter.together(_marks_before(marks, sum(scatter.counts)))
    ends = np.cumsum([0, *scatter.counts])
    earlier = np.empty_like(before)
    earlier[1:] = before[:-1]
    earlier[ends[:-1][np.asarray(scatter.counts) > 0]] = 0
    # A mark's position in a target's packet is before the first of its elements that came after the mark.
    heard = np.flatnonzero(before > earlier)
    steps = list(zip(heard.tolist(), earlier[heard].tolist(), before[heard].tolist()))
    cuts = np.searchsorted(heard, ends).tolist()
    found = []
    for (first, last), (start, end) in zip(pairwise(cuts), pairwise(ends.tolist())):
        placed: list[PlacedMark] = []
        known = 0
        for place, since, known in steps[first:last]:
            _add_all(placed, place - start, marks[since:known])
        _add_all(placed, end - start, marks[known:])
        found.append(placed)
    return found


def _add_all(placed: list[PlacedMark], position: int, marks: list[PlacedMark]) -> None:
    for _, mark in marks:
        add_mark(placed, position, mark)


def _marks_before(marks: list[PlacedMark], length: int) -> Numbers:
    """The number of marks before each element."""
    lengths = np.diff([0, *(position for position, _ in marks), length])
    return np.repeat(np.arange(len(marks) + 1, dtype=np.int32), lengths)


# Outboxes

FLUSH_AT = 16_384
"""The number of elements for one target at which a sender makes a packet of them."""
HELD = 8 * FLUSH_AT
"""The most elements that a sender holds for all targets of an edge together: with more than 8 targets packets are
smaller."""
HELD_BYTES = 64 * 1024 * 1024
"""The approximate size in bytes of held elements at which they are sent; see ``Weigher`` and ``HeldBytes`` in
``codec.py``."""


class Part(NamedTuple):
    """A chunk that leaves an outbox, with its marks."""

    targets: Sequence[int]
    """the receivers; each gets the whole chunk"""
    chunk: Chunk
    marks: list[PlacedMark]


class Outbox(ABC):
    """The elements and marks that wait to be sent to the receivers of one edge."""

    @abstractmethod
    def add(self, chunk: Chunk) -> Iterable[Part]:
        """Add a chunk; returns the parts to send now."""

    @abstractmethod
    def mark(self, mark: Mark) -> None:
        """Add a watermark or a status change, for every reachable target."""

    @abstractmethod
    def rest(self) -> Iterator[Part]:
        """Everything that waits."""


def outbox_for(partitioner: Partitioner, subtask: int, senders: int, receivers: int) -> Outbox:
    """The outbox for a partitioner."""
    targets = partitioner.targets(subtask, senders, receivers)
    if isinstance(partitioner, ElementWise):
        return ScatteringOutbox(partitioner.assigner(subtask, senders, receivers), len(targets))
    if isinstance(partitioner, Broadcast):
        return CopyingOutbox(targets)
    return RoutingOutbox(partitioner.router(subtask, senders, receivers), targets)


class Gathered:
    """Chunks merged into one, with the marks between their elements."""

    __slots__ = ("keys", "marks", "size", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] | None = None
        self.keys: list[Any] | None = None
        self.marks: list[PlacedMark] = []
        self.size = 0
        """number of elements and marks; for batches of rows, number of rows and marks"""

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
        gathered = self._gathered
        if not gathered.size:
            return
        self._gathered = Gathered()
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
    """For partitioners that send everything to all targets."""

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
    """For routers that split whole chunks, as those for batches of rows: gathers for each target separately."""

    def __init__(self, route: Router, targets: Sequence[int]) -> None:
        self._route = route
        self._targets = targets
        self._chunks = 0
        self._waiting: dict[int, Gathered] = {}
        """target -> gathered elements"""
        self._size = 0
        self._bytes = 0.0
        """approximate size of the gathered elements as packets, in bytes"""
        self._weigher = Weigher()
        self._marks: list[PlacedMark] = []
        """marks of the epoch, each with the number of chunks before it"""
        self._heard: dict[int, int] = {}
        """target -> number of marks that lie among its gathered elements"""

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
        """Add a part for a target; returns how many elements and marks wait for it now."""
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
    """As few packets of about the same size as possible: one target may have got nearly all gathered elements."""
    length = len(chunk.values)
    size = -(-length // max(1, round(length / FLUSH_AT)))
    if size >= length:
        yield encode(chunk, marks)
        return
    for start in range(0, length, size):
        end = start + size
        here = [(at - start, mark) for at, mark in marks if start <= at < end or (at == length and end >= length)]
        yield encode(slice_chunk(chunk, start, end), here)


# Packets and channels

ACK = -1
"""The edge number of packets that carry acknowledgements to the driver."""


class Packet(NamedTuple):
    """One row of the exchange."""

    target: int
    """partition of the stage that the packet is for"""
    edge: int
    channel: int
    """index of the sending subtask"""
    number: int
    """position in the channel within the epoch, from 0"""
    payload: bytes
    run: int = 0
    """number of the sending task's run, since Spark may run a task twice; 0 until the packet leaves the task"""


class LostPacketError(Exception):
    """A channel's packets have a gap: Spark lost or repeated a row."""


class Tally(NamedTuple):
    """A set of packets in two numbers: equal tallies mean the same packets, in any order."""

    packets: int = 0
    digest: int = 0
    """sum of the packets' digests, modulo 2**64"""


Tallies = dict[int, Tally]
"""edge -> tally of its packets"""

_MASK = 2**64 - 1


def _digest(edge: int, channel: int, target: int, number: int, run: int) -> int:
    """A 64-bit hash of a packet's identity, mixed so that no two wrong packets have the same sum as two right ones."""
    # The hash of a tuple of integers is the same in every process, but too linear to be summed up as it is.
    mixed = hash((edge, channel, target, number, run)) & _MASK
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & _MASK
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _MASK


class Manifest:
    """The tallies of the packets that one run of a task sends and receives in an epoch, for the driver to compare: two
    numbers for each edge, however many tasks there are on its other side."""

    def __init__(self, run: int) -> None:
        self.run = run
        self._sent: dict[int, list[int]] = {}
        self._received: dict[int, list[int]] = {}
        """edge -> [packets, sum of digests]"""

    @property
    def sent(self) -> Tallies:
        return _tallies(self._sent)

    @property
    def received(self) -> Tallies:
        return _tallies(self._received)

    def sending(self, packets: Iterable[Packet]) -> Iterator[Packet]:
        """Stamp the packets with the number of this run, and count them; packets that only pass through are stamped
        already."""
        sent, run = self._sent, self.run
        for packet in packets:
            target, edge, channel, number, payload, stamp = packet
            if stamp or edge == ACK:
                yield packet
                continue
            tally = sent.get(edge)
            if tally is None:
                tally = sent[edge] = [0, 0]
            tally[0] += 1
            tally[1] += _digest(edge, channel, target, number, run)
            yield Packet(target, edge, channel, number, payload, run)

    def receiving(self, packets: Iterable[Packet], is_mine: Callable[[int], bool]) -> Iterator[Packet]:
        """Count the packets on the edges that end in this stage.

        :raises LostPacketError: a channel has packets of two runs.
        """
        runs: dict[tuple[int, int], int] = {}
        for packet in packets:
            _, edge, channel, _, _, run = packet
            if edge != ACK and is_mine(edge):
                if runs.setdefault((edge, channel), run) != run:
                    raise LostPacketError(f"packets of edge {edge}, channel {channel} come from two runs of their task")
                self.received_one(packet)
            yield packet

    def received_one(self, packet: Packet) -> None:
        """Count a packet for this task."""
        target, edge, channel, number, _, run = packet
        tally = self._received.get(edge)
        if tally is None:
            tally = self._received[edge] = [0, 0]
        tally[0] += 1
        tally[1] += _digest(edge, channel, target, number, run)


def _tallies(sums: dict[int, list[int]]) -> Tallies:
    return {edge: Tally(packets, digest & _MASK) for edge, (packets, digest) in sums.items()}


def total(tallies: Iterable[Tallies]) -> Tallies:
    """The sum of the tallies of many tasks, by edge."""
    sums: dict[int, list[int]] = {}
    for each in tallies:
        for edge, (packets, digest) in each.items():
            tally = sums.setdefault(edge, [0, 0])
            tally[0] += packets
            tally[1] += digest
    return _tallies(sums)


REORDER_BYTES = 64 * 1024 * 1024
"""The bytes of an epoch that a receiver holds to sort packets; further packets follow in the order of arrival."""


def in_order(packets: Iterable[Packet], leading: int = 0) -> Iterator[Packet]:
    """The packets for one task in a fixed order: one packet of each channel in turn, as far as an epoch fits into
    memory.

    Spark fetches the outputs of the senders in any order. A fixed order makes small epochs repeatable; taking turns
    lets the watermark, which is the minimum over the channels, follow the data. The first ``leading`` edges come first
    as a whole.
    """

    def place(packet: Packet) -> tuple[int, ...]:
        channel = (packet.edge, packet.channel, packet.target)
        return (-1, *channel, packet.number) if packet.edge < leading else (packet.number, *channel)

    expected: dict[tuple[int, int, int], int] = {}
    early: dict[tuple[int, int, int, int], Packet] = {}
    for group in grouped(packets, REORDER_BYTES):
        for packet in sorted(group, key=place):
            if packet.edge == ACK:
                yield packet
                continue
            # Packets that pass through to a later stage may be for several targets, each with its own numbering.
            channel = (packet.edge, packet.channel, packet.target)
            early[packet.edge, packet.channel, packet.target, packet.number] = packet
            number = expected.get(channel, 0)
            while (ready := early.pop((*channel, number), None)) is not None:
                yield ready
                number += 1
            expected[channel] = number
    if early:
        edge, channel_number, target, number = min(early)
        raise LostPacketError(
            f"packets of edge {edge}, channel {channel_number} to target {target} are missing before number {number}, "
            f"or one came twice"
        )


def grouped(packets: Iterable[Packet], most: int) -> Iterator[list[Packet]]:
    """The packets in groups of about ``most`` bytes; the packet that reaches the limit ends its group."""
    group: list[Packet] = []
    size = 0
    for packet in packets:
        group.append(packet)
        size += len(packet.payload)
        if size >= most:
            yield group
            group, size = [], 0
    if group:
        yield group


class Writer(ABC):
    """The sending side of one edge in one subtask.

    :param emit: called with each packet.
    """

    def __init__(
        self,
        edge: int,
        partitioner: Partitioner,
        subtask: int,
        senders: int,
        receivers: int,
        offset: int,
        emit: Callable[[Packet], None],
    ) -> None:
        self._edge = edge
        self._subtask = subtask
        self._offset = offset
        self._emit = emit
        self._outbox = outbox_for(partitioner, subtask, senders, receivers)
        self._numbers = [0] * receivers
        """target -> number of its packets in this epoch"""

    def write(self, chunk: Chunk) -> None:
        self._send(self._outbox.add(chunk))

    def mark(self, mark: Mark) -> None:
        """A watermark or a status change, to every reachable target."""
        self._outbox.mark(mark)

    def flush(self) -> None:
        """Send the gathered elements."""
        self._send(self._outbox.rest())

    def _packet(self, target: int, payload: bytes) -> None:
        """Send the next packet of a target."""
        self._emit(Packet(self._offset + target, self._edge, self._subtask, self._numbers[target], payload))
        self._numbers[target] += 1

    @abstractmethod
    def end_epoch(self) -> None:
        """The epoch has no more elements: send what is left."""

    @abstractmethod
    def _send(self, parts: Iterable[Part]) -> None:
        """Make packets of the parts and send them."""


class ChannelWriter(Writer):
    """The sending side of an edge whose receivers accept everything at once."""

    def end_epoch(self) -> None:
        """Send what is left; the packets of the next epoch are numbered from 0 again."""
        self.flush()
        self._numbers = [0] * len(self._numbers)

    def _send(self, parts: Iterable[Part]) -> None:
        for targets, chunk, marks in parts:
            for payload in encoded(chunk, marks):
                for target in targets:
                    self._packet(target, payload)
