"""What a task in flow has received and not taken: inboxes, the room that is left, and which side goes first.

An inbox has what has come over one channel. Flink's ``inPoolUsage`` and ``outPoolUsage`` say how full inboxes and
outboxes were.

Rules come before data: the broadcast side of an operator goes first, as long as that makes sense. What comes for the
other sides meanwhile is taken from its channels and put aside, so that no sender waits for room. It has its turn when
the broadcast side has ended, when a mark has come from it, or when too much lies there. From then on everything is
handed on as it arrives.
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
"""A task has room for what it has taken in this time."""
MOST_ELEMENTS = 16_384
MOST_BYTES = 1024 * 1024


class Room:
    """How many elements one channel may bring.

    It is what the task has taken of it in the last 100 ms: what lies here has to pass before a mark does, and the task
    takes about as long for it. It is never less than a piece may have: where that takes longer, fewer save nothing.

    :param most: elements at any time.
    """

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        self._most = most
        self._taken: deque[tuple[int, int]] = deque()
        """(when (ns), elements) within the span"""
        self._recent = 0
        """their elements"""
        self._told = self.granted = FIRST_CREDIT
        self.total = 0
        """elements since the connection began"""
        self.room = FIRST_CREDIT

    def took(self, now: int, elements: int, size: int, least: int = 1) -> None:
        """The task is done with elements of so many bytes.

        :param least: elements that it wants at once.
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
        """So many elements are put off: until they are done there is room for one."""
        self.total += elements
        self._taken.clear()
        self._recent, self.room = 0, 1
        self.granted = max(self.granted, self.total + self.room)

    def news(self) -> bool:
        """Whether the sender shall hear how much there is room for; it is taken for told then."""
        if self.granted - self._told < max(1, self.room // 4):
            return False
        self._told = self.granted
        return True


class Inbox:
    """One channel of a task."""

    def __init__(self, channel: Channel, most: int = MOST_ELEMENTS) -> None:
        self.channel = channel
        self.room = Room(most)
        self._packets: deque[Packet] = deque()
        self._came = 0
        """packets of this epoch"""
        self._run: int | None = None
        """the run of the sender that they are of"""
        self.ended = False
        """whether the mark behind the epoch's last packet is here"""

    def __bool__(self) -> bool:
        return bool(self._packets)

    @property
    def fill(self) -> float:
        """How much of its room is taken, 0 to 1: so many packets make it full."""
        return min(1.0, len(self._packets) / PARTS)

    @property
    def bytes(self) -> int:
        """What waits here."""
        return sum(len(packet.payload) for packet in self._packets)

    def put(self, packet: Packet) -> None:
        """:raises LostPacketError: it is not the next one of its channel."""
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
        """The mark is here.

        :param packets: how many of the epoch went before it.
        :raises LostPacketError: there was a mark, or it is not the one behind what has come.
        """
        if self.ended:
            raise LostPacketError(f"a second mark has come over {self._name}")
        if packets != self._came or self._run not in (None, run):
            raise LostPacketError(
                f"the mark of {self._name} is behind {packets} packets of run {run}, {self._came} have come"
            )
        self.ended = True

    def take(self) -> Packet:
        """The packet that has waited the longest."""
        return self._packets.popleft()

    def next_epoch(self) -> None:
        """What comes from now on is of the next epoch."""
        assert not self._packets, "an epoch ends with empty inboxes"
        self._came, self._run, self.ended = 0, None, False

    @property
    def _name(self) -> str:
        edge, sender = self.channel
        return f"edge {edge}, channel {sender}"


# Broadcast sides go first

MOST_SET_ASIDE_BYTES = 64 * 1024 * 1024
"""Packets that are put aside."""


class BroadcastLead:
    """Of one operator.

    :param inboxes: those of its broadcast side; without any nothing leads.
    :param sources: ids of the sources from which something comes over these.
    """

    def __init__(self, inboxes: Collection[Inbox] = (), sources: Collection[int] = ()) -> None:
        self._inboxes = tuple(inboxes)
        self.channels = frozenset(inbox.channel for inbox in inboxes)
        self.sources = frozenset(sources)
        self.aside: list[Waiting] = []
        self._bytes = 0
        self._over = not inboxes

    def over(self, open_channels: Collection[Channel]) -> bool:
        """Whether all sides have their turn.

        :param open_channels: those of the operator that have not finished.
        """
        if not self._over:
            marked = all(inbox.ended and not inbox for inbox in self._inboxes)
            self._over = marked or self._bytes > MOST_SET_ASIDE_BYTES or self.channels.isdisjoint(open_channels)
        return self._over

    def end(self) -> None:
        """Nothing leads any more."""
        self._over = True

    def put_aside(self, items: Iterable[Waiting], size: int) -> None:
        """What has come for another side, so many bytes."""
        self._bytes += size
        self.aside.extend(items)

    def take_back(self) -> list[Waiting]:
        """What was put aside, in the order in which it came."""
        found, self.aside = self.aside, []
        return found


def broadcast_lead_of(job: JobGraph, operator: int, inboxes: Sequence[Inbox]) -> BroadcastLead:
    """What leads at an operator: its broadcast side, if that comes to an end by itself.

    :param inboxes: those of its channels that come from other tasks.
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
"""How often they are looked at."""


class Filled(Protocol):
    """What has inboxes."""

    @property
    def fill(self) -> float:
        """How full they are, each 0 to 1, added up."""


class Pools:
    """Means over an epoch, 0 to 1 each.

    :param inboxes: how many inboxes the gates have.
    """

    def __init__(self, gates: Collection[Filled], inboxes: int, writers: Collection[FlowWriter]) -> None:
        self._gates = gates
        self._inboxes = inboxes
        self._writers = writers
        self._seen = (0.0, 0.0)
        self._at: int | None = None
        """when (ns)"""
        self._span = 0
        self._sums = (0.0, 0.0)

    def look(self, now: int) -> None:
        """See how full they are, if it is time for that."""
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
        """The means since they were taken, of what comes in and of what goes out."""
        span, sums = self._span, self._sums
        return (sums[0] / span, sums[1] / span) if span else self._seen

    def take(self) -> tuple[float, float]:
        """The same, for the last time: they begin again."""
        taken = self.so_far()
        self._span, self._sums = 0, (0.0, 0.0)
        return taken
