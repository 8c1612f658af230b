"""The packed exchange: what one task sends to one subtask of a later stage travels as a few large binary packets.

A packet carries many elements in one piece of bytes, with the watermarks and status changes of its channel at their
places among the elements. Packets of a channel are numbered, so the receiver notices when one is missing or out of
order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Mark
from millrace.runtime.exchange.outbox import Part, encoded, outbox_for
from millrace.runtime.exchange.partitioners import Partitioner

ACK = -1
"""The edge number of packets that are acknowledgements on their way to the driver."""


class Packet(NamedTuple):
    """One row of the exchange."""

    target: int
    """partition of the stage that the packet is for"""
    edge: int
    channel: int
    """sending subtask"""
    number: int
    """position in the channel within the epoch, from 0"""
    payload: bytes
    run: int = 0
    """which run of the sending task made it: Spark may run a task twice; 0 until it leaves the task"""


class LostPacketError(Exception):
    """A channel's packets have a gap: Spark lost or repeated a row."""


class Tally(NamedTuple):
    """Which packets went over an edge, in two numbers: equal tallies mean the same packets, in whatever order."""

    packets: int = 0
    digest: int = 0
    """sum of the packets' digests, modulo 2**64"""


Tallies = dict[int, Tally]
"""by edge"""

_MASK = 2**64 - 1


def _digest(edge: int, channel: int, target: int, number: int, run: int) -> int:
    """64 bits that say which packet it is: no two wrong packets of an epoch look in a sum like two right ones."""
    # The hash of a tuple of integers is the same in every process; alone it is too linear to be summed up.
    mixed = hash((edge, channel, target, number, run)) & _MASK
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & _MASK
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _MASK


class Manifest:
    """What one run of a task sends and receives in an epoch, for the driver to compare: two numbers for each edge,
    however many tasks there are on its other side."""

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
        """Stamp the packets of this run; those that only pass through have their stamp."""
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
    """The packets of many tasks."""
    sums: dict[int, list[int]] = {}
    for each in tallies:
        for edge, (packets, digest) in each.items():
            tally = sums.setdefault(edge, [0, 0])
            tally[0] += packets
            tally[1] += digest
    return _tallies(sums)


REORDER_BYTES = 64 * 1024 * 1024
"""How much of an epoch a receiver holds to bring it into its fixed order; the rest follows as it comes."""


def in_order(packets: Iterable[Packet], leading: int = 0) -> Iterator[Packet]:
    """The packets of one task: the channels take turns, a packet each, as far as an epoch fits into memory.

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
            # Packets on their way to a later stage may be for several targets, each numbered on its own.
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
    """The packets in groups, each of which ends with the packet that brings it to so many bytes."""
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

    :param emit: takes the packets.
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
        """target -> its packets of this epoch"""

    def write(self, chunk: Chunk) -> None:
        self._send(self._outbox.add(chunk))

    def mark(self, mark: Mark) -> None:
        """A watermark or a status change, to every reachable target."""
        self._outbox.mark(mark)

    def flush(self) -> None:
        """Send what was gathered."""
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
        """Make packets of it."""


class ChannelWriter(Writer):
    """The sending side of an edge whose receivers take everything."""

    def end_epoch(self) -> None:
        """Send what is left and number the packets of the next epoch from 0 again."""
        self.flush()
        self._numbers = [0] * len(self._numbers)

    def _send(self, parts: Iterable[Part]) -> None:
        for targets, chunk, marks in parts:
            for payload in encoded(chunk, marks):
                for target in targets:
                    self._packet(target, payload)
