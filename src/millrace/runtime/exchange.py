"""The packed exchange: what one task sends to one subtask of a later stage travels as a few large binary packets.

A packet carries many elements in one piece of bytes, with the watermarks and status changes of its channel at their
places among the elements. Packets of a channel are numbered, so the receiver notices when one is missing or out of
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from millrace.runtime.codec import Mark, encode
from millrace.runtime.elements import Chunk, count
from millrace.runtime.partitioners import Partitioner

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


FLUSH_AT = 16_384
"""Elements that a sender gathers for one target before it makes a packet of them."""


class LostPacketError(Exception):
    """A channel's packets have a gap: Spark lost or repeated a row."""


class Manifest:
    """What one run of a task sends and receives in an epoch, for the driver to compare."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.sent: dict[tuple[int, int, int], int] = {}
        """(edge, channel, target) -> packets"""
        self.received: dict[tuple[int, int], tuple[int, int]] = {}
        """(edge, channel) -> (packets, the run that sent them)"""

    def sending(self, packets: Iterable[Packet]) -> Iterator[Packet]:
        """Stamp the packets of this run; those that only pass through have their stamp."""
        sent, run = self.sent, self.run
        for packet in packets:
            if packet.run or packet.edge == ACK:
                yield packet
                continue
            channel = (packet.edge, packet.channel, packet.target)
            sent[channel] = sent.get(channel, 0) + 1
            yield packet._replace(run=run)

    def receiving(self, packets: Iterable[Packet], is_mine: Callable[[int], bool]) -> Iterator[Packet]:
        """Count the packets on the edges that end in this stage.

        :raises LostPacketError: a channel has packets of two runs.
        """
        received = self.received
        for packet in packets:
            if packet.edge != ACK and is_mine(packet.edge):
                channel = (packet.edge, packet.channel)
                count, run = received.get(channel, (0, packet.run))
                if run != packet.run:
                    raise LostPacketError(
                        f"packets of edge {packet.edge}, channel {packet.channel} come from two runs of their task"
                    )
                received[channel] = (count + 1, run)
            yield packet


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
    for group in _groups(packets):
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


def _groups(packets: Iterable[Packet]) -> Iterator[list[Packet]]:
    group: list[Packet] = []
    size = 0
    for packet in packets:
        group.append(packet)
        size += len(packet.payload)
        if size >= REORDER_BYTES:
            yield group
            group, size = [], 0
    yield group


class _Buffer:
    """What waits for one target."""

    __slots__ = ("keys", "marks", "number", "size", "timestamps", "values")

    def __init__(self) -> None:
        self.number = 0
        self.reset()

    def reset(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] | None = None
        self.keys: list[Any] | None = None
        self.marks: list[tuple[int, Mark]] = []
        self.size = 0
        """elements; of batches of rows it is the rows"""

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


class ChannelWriter:
    """The sending side of one edge in one subtask."""

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
        self._route = partitioner.router(subtask, senders, receivers)
        self._buffers = {target: _Buffer() for target in partitioner.targets(subtask, senders, receivers)}

    def write(self, chunk: Chunk) -> None:
        for target, part in self._route(chunk):
            buffer = self._buffers[target]
            buffer.add(part)
            if buffer.size >= FLUSH_AT:
                self._flush(target, buffer)

    def mark(self, mark: Mark) -> None:
        """A watermark or a status change, to every reachable target."""
        for buffer in self._buffers.values():
            position = len(buffer.values)
            marks = buffer.marks
            if marks and marks[-1][0] == position and isinstance(mark, int) and isinstance(marks[-1][1], int):
                marks.pop()  # a later watermark at the same place says it all
            marks.append((position, mark))

    def flush(self) -> None:
        for target, buffer in self._buffers.items():
            if buffer.values or buffer.marks:
                self._flush(target, buffer)

    def end_epoch(self) -> None:
        """Send what is left and number the packets of the next epoch from 0 again."""
        self.flush()
        for buffer in self._buffers.values():
            buffer.number = 0

    def _flush(self, target: int, buffer: _Buffer) -> None:
        payload = encode(Chunk(buffer.values, buffer.timestamps, buffer.keys), buffer.marks)
        self._emit(Packet(self._offset + target, self._edge, self._subtask, buffer.number, payload))
        buffer.number += 1
        buffer.reset()
