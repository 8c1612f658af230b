"""The sending side of an edge with flow control: receivers say by credit how much they have room for.

A receiver gives *credit*: the number of elements of its channel, counted from the first one of the connection, up to
which it accepts packets, and its room in all. Elements without credit wait here in a backlog for each receiver, and the
operator that makes more of them has to wait. Marks need no credit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from millrace.relational.rows import count
from millrace.runtime.elements import Chunk, Cutter, slice_chunk
from millrace.runtime.exchange.codec import Mark, encode
from millrace.runtime.exchange.exchange import FLUSH_AT, Gathered, Packet, Part, PlacedMark, Writer
from millrace.runtime.exchange.partitioners import Broadcast, Partitioner

# What waits for one receiver


class Backlog:
    """Elements and marks that wait for one receiver, in order. Of consecutive watermarks only the last one is
    stored.
    """

    def __init__(self) -> None:
        self._items: deque[Chunk | Mark] = deque()
        self._cutter: Cutter | None = None
        """cuts the first chunk"""
        self.elements = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, chunk: Chunk, marks: list[PlacedMark]) -> None:
        """Add elements, with the marks between them."""
        self.elements += count(chunk.values)
        start = 0
        for position, mark in marks:
            if position > start:
                self._items.append(slice_chunk(chunk, start, position))
                start = position
            self._mark(mark)
        if start < len(chunk.values):
            self._items.append(slice_chunk(chunk, start, None) if start else chunk)

    def _mark(self, mark: Mark) -> None:
        items = self._items
        if items and items[-1].__class__ is int and mark.__class__ is int:
            items.pop()
        items.append(mark)

    def take(self, most: int) -> tuple[Chunk, list[PlacedMark]]:
        """Take at most this many elements, and the marks up to the next one. The old and the new row of an update stay
        together, so there may be one more."""
        items, taken = Gathered(), 0
        while self._items:
            first = self._items[0]
            if not isinstance(first, Chunk):
                items.mark(first)
                self._items.popleft()
            elif taken >= most:
                break
            else:
                cutter = self._cutter or Cutter(first)
                before = cutter.elements
                items.add(cutter.take(most - taken))
                taken += before - cutter.elements
                self._cutter = cutter if cutter.elements else None
                if not cutter.elements:
                    self._items.popleft()
        self.elements -= taken
        return items.chunk, items.marks


# Credit

FIRST_CREDIT = 1
"""The number of elements that a receiver accepts before it has given credit."""
PARTS = 4
"""A receiver's room is filled by at least this many packets, so that it has work while the next ones come."""


class EpochMark(NamedTuple):
    """Ends the epoch of a channel; it follows the channel's last packet."""

    target: int
    """partition of the receiver's stage"""
    edge: int
    channel: int
    """index of the sending subtask"""
    run: int
    packets: int
    """number of the epoch's packets in the channel before the mark"""


class SenderMarks(NamedTuple):
    """The epoch marks of one sender of an edge, for several of its receivers."""

    edge: int
    channel: int
    run: int
    targets: tuple[int, ...]
    packets: tuple[int, ...]
    """number of the epoch's packets to each target"""


class EdgeMarks(NamedTuple):
    """The epoch marks of all senders of an edge, for one receiver."""

    edge: int
    target: int
    run: int
    packets: tuple[tuple[int, int], ...]
    """(channel, number of the epoch's packets before its mark)"""

    def each(self) -> list[EpochMark]:
        """A separate ``EpochMark`` for each channel."""
        return [EpochMark(self.target, self.edge, channel, self.run, number) for channel, number in self.packets]


class Credit(NamedTuple):
    """How many elements of a channel a receiver accepts."""

    edge: int
    channel: int
    """index of the sending subtask"""
    target: int
    """partition of the receiver's stage"""
    granted: int
    """number of elements accepted, counted from the beginning of the connection"""
    room: int
    """number of elements that the receiver has room for when it is empty"""


class _Receiver:
    """The credit and the backlog of one receiver, on the sender's side."""

    __slots__ = ("backlog", "granted", "most", "sent")

    def __init__(self) -> None:
        self.backlog = Backlog()
        self.granted = FIRST_CREDIT
        self.most = 1
        """the most elements in a packet"""
        self.sent = 0
        """number of elements sent since the connection began"""

    @property
    def fitting(self) -> int:
        """The number of elements that the next packet may have."""
        return min(self.granted - self.sent, self.most)


class FlowWriter(Writer):
    """The sending side of an edge whose receivers give credit."""

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
        super().__init__(edge, partitioner, subtask, senders, receivers, offset, emit)
        self._targets = partitioner.targets(subtask, senders, receivers)
        self._receivers: defaultdict[int, _Receiver] = defaultdict(_Receiver)
        self._behind: set[int] = set()
        """targets with a backlog"""
        self._copies = isinstance(partitioner, Broadcast)
        self._free = FIRST_CREDIT * len(self._targets)
        """number of elements that all receivers together have room for; kept as a sum, so that reading it takes the
        same time for any number of receivers"""
        self._gathered = 0
        """approximate number of elements that were not divided among the targets yet"""
        self.written = 0
        """number of elements ever written"""
        self.unlimited = False
        """whether everything is sent at once, with or without credit"""

    @property
    def width(self) -> int:
        """The number of receivers."""
        return len(self._targets)

    @property
    def blocked(self) -> bool:
        """Whether elements wait for credit."""
        return bool(self._behind)

    @property
    def backlog(self) -> int:
        """The number of elements that wait for credit."""
        return sum(self._receivers[target].backlog.elements for target in self._behind)

    @property
    def room(self) -> int:
        """About how many more elements there is room for, besides the gathered ones."""
        if self._behind:
            return 0
        if not self._copies:
            return self._free - self._gathered
        known = [receiver.granted - receiver.sent for receiver in self._receivers.values()]
        others = len(self._targets) - len(known)
        return min([*known, *([FIRST_CREDIT] if others else [])], default=0) - self._gathered

    @property
    def fill(self) -> float:
        """The elements that wait here as a part of the receivers' room, 0 to 1."""
        waiting = self._gathered + self.backlog
        return waiting / (waiting + max(0, self.room)) if waiting else 0.0

    @property
    def full(self) -> bool:
        """Whether the gathered elements must be sent before there can be more."""
        return self._gathered > 0 and self.room <= 0

    def write(self, chunk: Chunk) -> None:
        elements = count(chunk.values)
        self._gathered += elements
        self.written += elements
        super().write(chunk)

    def flush(self) -> None:
        """Send the gathered elements, as far as there is credit."""
        super().flush()
        self._gathered = 0

    def end_epoch(self) -> None:
        """All elements of the epoch were written. The epoch marks follow when no element waits for credit any more."""
        self.flush()

    def epoch_marks(self, run: int) -> Iterator[EpochMark]:
        """The epoch marks for all receivers; the packets of the next epoch are numbered from 0 again."""
        assert not self._behind, "the mark comes behind all elements"
        for target in self._targets:
            yield EpochMark(self._offset + target, self._edge, self._subtask, run, self._numbers[target])
            self._numbers[target] = 0

    def credit(self, credit: Credit) -> None:
        """A receiver has given credit: send what waits for it."""
        target = credit.target - self._offset
        receiver = self._receivers[target]
        granted = max(receiver.granted, credit.granted)
        self._free += granted - receiver.granted
        receiver.granted = granted
        receiver.most = max(1, min(credit.room // PARTS, FLUSH_AT))
        if target in self._behind:
            self._release(target)

    def overdraw(self) -> None:
        """Send what waits without credit, because its receivers need it before the epoch mark."""
        for target in list(self._behind):
            self._release(target, FLUSH_AT)

    def _send(self, parts: Iterable[Part]) -> None:
        for targets, chunk, marks in parts:
            elements = count(chunk.values)
            self._gathered = max(0, self._gathered - elements)
            payload: bytes | None = None
            for target in targets:
                receiver = self._receivers[target]
                if receiver.backlog:
                    receiver.backlog.add(chunk, marks)
                elif elements <= FLUSH_AT and (self.unlimited or elements <= receiver.fitting):
                    payload = encode(chunk, marks) if payload is None else payload
                    self._sent(target, receiver, elements, payload)
                    continue
                else:
                    receiver.backlog.add(chunk, marks)
                    self._behind.add(target)
                self._release(target)

    def _release(self, target: int, most: int = 0) -> None:
        """Send what waits for a target, as far as there is credit.

        :param most: number of elements that may be sent without credit.
        """
        receiver = self._receivers[target]
        backlog = receiver.backlog
        while backlog:
            before = backlog.elements
            chunk, marks = backlog.take(FLUSH_AT if self.unlimited else max(most, receiver.fitting))
            if not chunk.values and not marks:
                return
            self._sent(target, receiver, before - backlog.elements, encode(chunk, marks))
        self._behind.discard(target)

    def _sent(self, target: int, receiver: _Receiver, elements: int, payload: bytes) -> None:
        self._packet(target, payload)
        if not self.unlimited:  # the receiver does not count these either
            receiver.sent += elements
            self._free -= elements
