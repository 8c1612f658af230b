"""The messages that owners of a job in flow send to its driver and to each other.

Messages from and to the driver are pickles, over a connection of which both ends have proved that they know the job's
secret. Frames between owners have a head of fixed size and, if they are packets, the packet's bytes: nothing is
unpickled before the task that a packet is for does so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millrace.runtime.bases.epoch_protocol import Result, TaskSoFar
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import Credit, SenderMarks
from millrace.runtime.storage import TaskId
from millrace.spark.workers.frames import OwnerReport, Request

# -- driver to owner ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peers:
    """The first message: where all owners listen, in the order of their numbers."""

    places: tuple[str, ...]
    secret: bytes
    """secret of this set of connections: an owner that connects to another one has to show it"""
    ahead: int
    """parts of collected elements that a task may send before the program has taken any, while an epoch goes on; 0:
    none"""
    lease_seconds: float = 0.0
    """seconds that an owner goes on without a word from its driver; 0: as long as it takes"""


@dataclass(frozen=True)
class Begin:
    """An epoch begins."""

    run: int
    text: str
    """what the driver has published for it"""


@dataclass(frozen=True)
class End:
    """The epoch ends: sources read no more."""

    run: int


@dataclass(frozen=True)
class Limits:
    """Sources have new limits within the epoch."""

    run: int
    limits: dict[int, int]
    """id of the operator -> the watermark (ms) above which its source waits for the others of its alignment group"""


@dataclass(frozen=True)
class Taken:
    """Credit: the program has room again for this many parts of what a task collects."""

    task: TaskId
    parts: int


@dataclass(frozen=True)
class Ask:
    """What do the threads of the owner do? It answers with ``Told``."""

    number: int
    """no other question on this set of connections has it"""
    request: Request


# -- both ways ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alive:
    """A sign of life: sent each second where connections have a lease."""


# -- owner to driver ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listening:
    """The first message of an owner: where it listens for other owners."""

    place: str
    """see ``Meeting.place``"""


@dataclass(frozen=True)
class Reached:
    """The answer to ``Peers``: the owner has connected to the others, where that is not left for later."""

    missed: tuple[str, ...] = ()
    """a sentence for each owner that it cannot connect to"""


@dataclass(frozen=True)
class Told:
    """The answer to ``Ask``."""

    number: int
    report: OwnerReport


@dataclass(frozen=True)
class Acked:
    """The acknowledgement of a task."""

    ack: bytes


@dataclass(frozen=True)
class Printed:
    """The lines that a task has printed since the last such message, in an epoch that goes on."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Collected:
    """What a task has collected since the last such message, in an epoch that goes on."""

    task: TaskId
    results: tuple[Result, ...]


@dataclass(frozen=True)
class EpochProgress:
    """The progress of tasks in an epoch that goes on: only tasks for which something has changed."""

    run: int
    tasks: tuple[TaskSoFar, ...]


@dataclass(frozen=True)
class First:
    """A source has read its first record of the epoch."""

    run: int


@dataclass(frozen=True)
class Wanted:
    """A source can't go on before the epoch has ended."""

    run: int


@dataclass(frozen=True)
class Broken:
    """The owner can't go on."""

    text: str


# -- between owners ----------------------------------------------------------------------------------------------------

_HEAD = struct.Struct("<BiiiiqI")
_PACKET, _MARKS, _CREDIT = range(3)


Sent = Packet | SenderMarks | Credit
"""A message that an owner sends to another one."""


def encoded(frames: Iterable[Sent]) -> bytes:
    """Encode frames for the connection to another owner."""
    parts = []
    for frame in frames:
        if isinstance(frame, Packet):
            target, edge, channel, number, payload, run = frame
            parts.append(_HEAD.pack(_PACKET, target, edge, channel, number, run, len(payload)))
            parts.append(payload)
        elif isinstance(frame, SenderMarks):
            edge, channel, run, targets, packets = frame
            payload = struct.pack(f"<{2 * len(targets)}i", *targets, *packets)
            parts.append(_HEAD.pack(_MARKS, 0, edge, channel, len(targets), run, len(payload)))
            parts.append(payload)
        else:
            parts.append(_HEAD.pack(_CREDIT, frame.target, frame.edge, frame.channel, frame.room, frame.granted, 0))
    return b"".join(parts)


class Decoder:
    """Cuts the bytes of one connection into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, content: bytes) -> Iterator[Sent]:
        """Add bytes, and return the frames that are complete now."""
        self._bytes += content
        held, at = memoryview(self._bytes), 0
        try:
            while len(held) - at >= _HEAD.size:
                kind, target, edge, channel, number, run, length = _HEAD.unpack_from(held, at)
                end = at + _HEAD.size + length
                if end > len(held):
                    break
                payload = bytes(held[at + _HEAD.size : end])
                at = end
                if kind == _PACKET:
                    yield Packet(target, edge, channel, number, payload, run)
                elif kind == _MARKS:
                    numbers = struct.unpack(f"<{2 * number}i", payload)
                    yield SenderMarks(edge, channel, run, numbers[:number], numbers[number:])
                elif kind == _CREDIT:
                    yield Credit(edge, channel, target, run, number)
                else:
                    raise ValueError(f"a frame of an unknown kind ({kind}) has come from another owner")
        finally:
            held.release()
            del self._bytes[:at]
