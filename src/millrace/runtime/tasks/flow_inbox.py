"""Packets that a task in flow has received and not processed: inboxes, their room, and which side goes first.

An inbox contains the packets of one channel. Flink's metrics ``inPoolUsage`` and ``outPoolUsage`` show how full inboxes
and outboxes were.

The broadcast side of an operator goes first, because rules must be known before data, as long as that makes sense.
Packets for the other sides are meanwhile taken from their channels and put aside, so that no sender waits for room.
They get their turn when the broadcast side has ended, when a mark has arrived from it, or when too many bytes are put
aside. From then on everything is processed in the order of arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from millrace.common.source import Boundedness
from millrace.runtime.exchange.exchange import LostPacketError, Packet
from millrace.runtime.exchange.flow_writer import FIRST_CREDIT, PARTS, FlowWriter
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.specs import Source
from millrace.runtime.tasks.waiting import Channel, Waiting

# Inboxes

SPAN_NANOSECONDS = 100_000_000
"""A channel has room for as many elements as the task has processed in this time (ns)."""
MOST_ELEMENTS = 16_384
MOST_BYTES = 1024 * 1024


class Room:
    """How many elements one channel may send ahead.

    The room is what the task has processed of the channel in the last 100 ms: elements in the inbox delay the next mark
    by about that time. It is never less than one piece: where that takes longer, fewer elements save nothing.

    :param most: the most elements.
    """

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        self._most = most
        self._taken: deque[tuple[int, int]] = deque()
        """(time in ns, elements processed) within the last ``SPAN_NANOSECONDS``"""
        self._recent = 0
        """sum of the elements in ``_taken``"""
        self._told = self.granted = FIRST_CREDIT
        self.total = 0
        """number of elements processed since the connection began"""
        self.room = FIRST_CREDIT

    def took(self, now: int, elements: int, size: int, least: int = 1) -> None:
        """The task has processed elements of a packet. :param size: their size in bytes.

        :param least: number of elements that the task wants in one piece.
        """
        if not elements:
            return
        taken = self._taken
        taken.append((now, elements))
        self._recent += elements
        while taken[0][0] < now - SPAN_NANOSECONDS:
            self._recent -= taken.popleft()[1]
        self.total += elements
        fitting = MOST_BYTES * elements // size if size else self._most
        self.room = max(1, min(max(self._recent, least), fitting, self._most))
        self.granted = max(self.granted, self.total + self.room)

    def left(self, elements: int) -> None:
        """This many elements are put off: until they are processed there is room for one."""
        self.total += elements
        self._taken.clear()
        self._recent, self.room = 0, 1
        self.granted = max(self.granted, self.total + self.room)

    def news(self) -> bool:
        """Whether the sender needs new credit; if so, the credit counts as sent."""
        if self.granted - self._told < max(1, self.room // 4):
            return False
        self._told = self.granted
        return True


class Inbox:
    """The received packets of one channel."""

    def __init__(self, channel: Channel, most: int = MOST_ELEMENTS) -> None:
        self.channel = channel
        self.room = Room(most)
        self._packets: deque[Packet] = deque()
        self._came = 0
        """number of packets received in this epoch"""
        self._run: int | None = None
        """run of the sender that the packets are of"""
        self.ended = False
        """whether the mark after the epoch's last packet has arrived"""

    def __bool__(self) -> bool:
        return bool(self._packets)

    @property
    def fill(self) -> float:
        """The part of the inbox that is filled, 0 to 1; ``PARTS`` packets fill it."""
        return min(1.0, len(self._packets) / PARTS)

    @property
    def bytes(self) -> int:
        """The size of the waiting packets."""
        return sum(len(packet.payload) for packet in self._packets)

    def put(self, packet: Packet) -> None:
        """Add a packet. :raises LostPacketError: it is not the next one of its channel."""
        if self.ended:
            raise LostPacketError(f"a packet of {self._name} has come behind the mark of its epoch")
        if packet.number != self._came or self._run not in (None, packet.run):
            raise LostPacketError(
                f"packet {packet.number} of run {packet.run} has come over {self._name}, "
                f"where number {self._came} of {'any run' if self._run is None else f'run {self._run}'} was next"
            )
        self._run = packet.run
        self._came += 1
        self._packets.append(packet)

    def end(self, run: int, packets: int) -> None:
        """The epoch mark of the channel has arrived.

        :param packets: number of the epoch's packets before the mark.
        :raises LostPacketError: there was a mark already, or packets before it are missing.
        """
        if self.ended:
            raise LostPacketError(f"a second mark has come over {self._name}")
        if packets != self._came or self._run not in (None, run):
            raise LostPacketError(
                f"the mark of {self._name} is behind {packets} packets of run {run}, {self._came} have come"
            )
        self.ended = True

    def take(self) -> Packet:
        """Remove and return the oldest packet."""
        return self._packets.popleft()

    def next_epoch(self) -> None:
        """Packets that arrive from now on belong to the next epoch."""
        assert not self._packets, "an epoch ends with empty inboxes"
        self._came, self._run, self.ended = 0, None, False

    @property
    def _name(self) -> str:
        edge, sender = self.channel
        return f"edge {edge}, channel {sender}"


# Broadcast sides go first

MOST_SET_ASIDE_BYTES = 64 * 1024 * 1024
"""The most bytes of packets that are put aside."""


class BroadcastLead:
    """Lets the broadcast side of one operator go first.

    :param inboxes: inboxes of its broadcast side; empty: no side goes first.
    :param sources: ids of the sources that send elements over these channels.
    """

    def __init__(self, inboxes: Collection[Inbox] = (), sources: Collection[int] = ()) -> None:
        self._inboxes = tuple(inboxes)
        self.channels = frozenset(inbox.channel for inbox in inboxes)
        self.sources = frozenset(sources)
        self.aside: list[Waiting] = []
        self._bytes = 0
        self._over = not inboxes

    def over(self, open_channels: Collection[Channel]) -> bool:
        """Whether all sides get their turn.

        :param open_channels: channels of the operator that have not finished.
        """
        if not self._over:
            marked = all(inbox.ended and not inbox for inbox in self._inboxes)
            self._over = marked or self._bytes > MOST_SET_ASIDE_BYTES or self.channels.isdisjoint(open_channels)
        return self._over

    def end(self) -> None:
        """Let all sides get their turn from now on."""
        self._over = True

    def put_aside(self, items: Iterable[Waiting], size: int) -> None:
        """Put aside items of another side, of ``size`` bytes."""
        self._bytes += size
        self.aside.extend(items)

    def take_back(self) -> list[Waiting]:
        """The items that were put aside, in the order of arrival."""
        found, self.aside = self.aside, []
        return found


def broadcast_lead_of(job: JobGraph, operator: int, inboxes: Sequence[Inbox]) -> BroadcastLead:
    """The broadcast side of an operator that goes first; only a side that ends by itself does.

    :param inboxes: inboxes of the operator's channels from other tasks.
    """
    leading = [inbox for inbox in inboxes if inbox.channel[0] < job.leading_edges]
    reached = {id for inbox in leading for id in job.above[job.edges[inbox.channel[0]].source]}
    sources = [id for id in reached if job.above[id] == {id}]
    if not leading or not all(_is_bounded(job.by_id[id].spec) for id in sources):
        return BroadcastLead()
    return BroadcastLead(leading, sources)


def _is_bounded(spec: object) -> bool:
    return isinstance(spec, Source) and spec.source.get_boundedness() is Boundedness.BOUNDED


# Usage of buffers

LOOK_NANOSECONDS = 20_000_000
"""The interval at which the fill ratios are sampled (ns)."""


class Filled(Protocol):
    """An object with inboxes."""

    @property
    def fill(self) -> float:
        """The fill ratios of its inboxes (0 to 1), added up."""


class Pools:
    """The mean fill ratios of inboxes and outboxes over an epoch, 0 to 1 each.

    :param inboxes: number of inboxes of all gates.
    """

    def __init__(self, gates: Collection[Filled], inboxes: int, writers: Collection[FlowWriter]) -> None:
        self._gates = gates
        self._inboxes = inboxes
        self._writers = writers
        self._seen = (0.0, 0.0)
        self._at: int | None = None
        """time of the last sample (ns)"""
        self._span = 0
        self._sums = (0.0, 0.0)

    def look(self, now: int) -> None:
        """Sample the fill ratios, if it is time for that."""
        at = self._at
        if at is not None and now < at + LOOK_NANOSECONDS:
            return
        if at is not None and now > at:
            self._span += now - at
            (came, went), (inward, outward) = self._sums, self._seen
            self._sums = came + inward * (now - at), went + outward * (now - at)
        self._at = now
        came = sum(gate.fill for gate in self._gates) / self._inboxes if self._inboxes else 0.0
        went = sum(writer.fill for writer in self._writers) / len(self._writers) if self._writers else 0.0
        self._seen = came, went

    def so_far(self) -> tuple[float, float]:
        """The mean fill ratios of inboxes and of outboxes since the last ``take``."""
        span, sums = self._span, self._sums
        return (sums[0] / span, sums[1] / span) if span else self._seen

    def take(self) -> tuple[float, float]:
        """The mean fill ratios of inboxes and of outboxes; the means start again."""
        taken = self.so_far()
        self._span, self._sums = 0, (0.0, 0.0)
        return taken
