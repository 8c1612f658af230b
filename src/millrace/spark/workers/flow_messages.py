"""What owners of a job in flow send to its driver and to each other.

Messages of the driver are pickles, over a connection of which both ends have proved that they know the job's secret.
Frames between owners have a head of fixed size and, if they are packets, the packet's bytes: nothing is unpickled
before the task that a packet is for does so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millrace.runtime.bases.epoch_protocol import Result, TaskSoFar
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import Credit, SenderMarks
from millrace.runtime.storage import TaskId

# -- driver to owner ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peers:
    """The first message: where all owners listen, in the order of their numbers."""

    paths: tuple[str, ...]
    secret: bytes
    """of this life of the connections: who connects shows it"""
    ahead: int
    """parts of collected elements that a task gives, before those are taken, while an epoch goes on; 0: none"""


@dataclass(frozen=True)
class Begin:
    """An epoch begins."""

    run: int
    text: str
    """what the driver has published for it"""


@dataclass(frozen=True)
class End:
    """It ends: sources read no more."""

    run: int


@dataclass(frozen=True)
class Limits:
    """Sources have new limits within the epoch."""

    run: int
    limits: dict[int, int]
    """id of the operator -> the watermark (ms) above which it waits for the others of its alignment group"""


@dataclass(frozen=True)
class Taken:
    """So many parts of what a task has collected are on their way to the program."""

    task: TaskId
    parts: int


# -- owner to driver ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listening:
    """The first message: where this owner listens for the others."""

    path: str


@dataclass(frozen=True)
class Acked:
    """The acknowledgement of a task."""

    ack: bytes


@dataclass(frozen=True)
class Printed:
    """What a task has printed so far, of an epoch that goes on."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Collected:
    """What a task has collected so far, of an epoch that goes on."""

    task: TaskId
    results: tuple[Result, ...]


@dataclass(frozen=True)
class EpochProgress:
    """What tasks have done of an epoch that goes on: those of which there is something new."""

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
"""What goes over a connection."""


def encoded(frames: Iterable[Sent]) -> bytes:
    """Frames as they travel."""
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
    """Frames out of the bytes of one connection."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, content: bytes) -> Iterator[Sent]:
        """More bytes; the frames that are whole now."""
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
