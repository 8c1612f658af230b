"""The sending side of an edge whose receivers say how much they have room for.

A receiver gives *credit*: up to which element of its channel, counted from the first one of the connection, it takes
packets, and how much room it has in all. What there is no credit for waits here, in a backlog for each receiver, and
the operator that makes more of it has to wait. Marks need no credit.
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
    """In order. Of watermarks with nothing between them only the last one is held."""

    def __init__(self) -> None:
        self._items: deque[Chunk | Mark] = deque()
        self._cutter: Cutter | None = None
        """takes the first chunk apart"""
        self.elements = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, chunk: Chunk, marks: list[PlacedMark]) -> None:
        """Elements with the marks between them."""
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
        """So many elements at most, and the marks up to the next one. The old and the new row of an update stay
        together, so it may be one more."""
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
"""Elements that a receiver has room for before it has said anything."""
PARTS = 4
"""So many packets at least fill a receiver's room: it has something to do while the next ones come."""


class EpochMark(NamedTuple):
    """Behind the last packet of a channel's epoch."""

    target: int
    """partition of the stage that it is for"""
    edge: int
    channel: int
    """sending subtask"""
    run: int
    packets: int
    """how many of the epoch went before it"""


class SenderMarks(NamedTuple):
    """The marks of one sender behind an edge, for several of its receivers."""

    edge: int
    channel: int
    run: int
    targets: tuple[int, ...]
    packets: tuple[int, ...]
    """how many of the epoch went to each of them"""


class EdgeMarks(NamedTuple):
    """The marks of all senders of an edge, for one receiver."""

    edge: int
    target: int
    run: int
    packets: tuple[tuple[int, int], ...]
    """(channel, how many of the epoch went before its mark)"""

    def each(self) -> list[EpochMark]:
        """The same, as single marks."""
        return [EpochMark(self.target, self.edge, channel, self.run, number) for channel, number in self.packets]


class Credit(NamedTuple):
    """What a receiver has room for."""

    edge: int
    channel: int
    """sending subtask"""
    target: int
    """partition of the receiver's stage"""
    granted: int
    """elements since the connection began"""
    room: int
    """elements that it has room for when it has nothing"""


class _Receiver:
    """What the sender knows of one receiver."""

    __slots__ = ("backlog", "granted", "most", "sent")

    def __init__(self) -> None:
        self.backlog = Backlog()
        self.granted = FIRST_CREDIT
        self.most = 1
        """elements of a packet"""
        self.sent = 0
        """elements since the connection began"""

    @property
    def fitting(self) -> int:
        """Elements of the next packet."""
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
        """elements that all receivers together have room for; as many of them as there are, this costs nothing"""
        self._gathered = 0
        """elements that were not divided among the targets yet, about"""
        self.written = 0
        """elements, ever"""
        self.unlimited = False
        """whether everything goes at once, credit or not"""

    @property
    def width(self) -> int:
        """How many receivers there are."""
        return len(self._targets)

    @property
    def blocked(self) -> bool:
        """Whether something waits for credit."""
        return bool(self._behind)

    @property
    def backlog(self) -> int:
        """Elements that wait for credit."""
        return sum(self._receivers[target].backlog.elements for target in self._behind)

    @property
    def room(self) -> int:
        """About how many elements there is room for, beyond what is gathered."""
        if self._behind:
            return 0
        if not self._copies:
            return self._free - self._gathered
        known = [receiver.granted - receiver.sent for receiver in self._receivers.values()]
        others = len(self._targets) - len(known)
        return min([*known, *([FIRST_CREDIT] if others else [])], default=0) - self._gathered

    @property
    def fill(self) -> float:
        """How much of what its receivers have room for waits here, 0 to 1."""
        waiting = self._gathered + self.backlog
        return waiting / (waiting + max(0, self.room)) if waiting else 0.0

    @property
    def full(self) -> bool:
        """Whether so much is gathered that it has to go before there can be more."""
        return self._gathered > 0 and self.room <= 0

    def write(self, chunk: Chunk) -> None:
        elements = count(chunk.values)
        self._gathered += elements
        self.written += elements
        super().write(chunk)

    def flush(self) -> None:
        """Send what was gathered, as far as there is credit."""
        super().flush()
        self._gathered = 0

    def end_epoch(self) -> None:
        """These were the last elements; the marks follow when nothing waits for credit any more."""
        self.flush()

    def epoch_marks(self, run: int) -> Iterator[EpochMark]:
        """For all receivers; the packets of the next epoch are numbered from 0 again."""
        assert not self._behind, "the mark comes behind all elements"
        for target in self._targets:
            yield EpochMark(self._offset + target, self._edge, self._subtask, run, self._numbers[target])
            self._numbers[target] = 0

    def credit(self, credit: Credit) -> None:
        """A receiver has room for more; what waits for that goes."""
        target = credit.target - self._offset
        receiver = self._receivers[target]
        granted = max(receiver.granted, credit.granted)
        self._free += granted - receiver.granted
        receiver.granted = granted
        receiver.most = max(1, min(credit.room // PARTS, FLUSH_AT))
        if target in self._behind:
            self._release(target)

    def overdraw(self) -> None:
        """Send what waits without credit: its receivers have to have it before the mark."""
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
        """Send what waits for a target as far as there is credit.

        :param most: elements of a packet that need none.
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
