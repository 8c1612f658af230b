"""What has come to a task over one channel and was not taken, and how much more the task has room for."""

from __future__ import annotations

from collections import deque

from millrace.runtime.exchange.exchange import LostPacketError, Packet
from millrace.runtime.exchange.flow_writer import FIRST_CREDIT, PARTS
from millrace.runtime.tasks.waiting import Channel

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
