"""``Event``: one entry of a binary log, as the server sends it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.connectors.cdc.mysql.log import kinds

HEADER = 19
_head = struct.Struct("<IBIIIH").unpack_from
_ARTIFICIAL = 0x20


@dataclass(frozen=True)
class Event:
    """An event without its checksum.

    :ivar time: when the statement ran, in seconds; 0: the server made it up for the connection.
    :ivar end: where the next one begins in the file; its low 32 bits.
    :ivar size: bytes that it has in the file.
    """

    kind: int
    time: int
    server: int
    end: int
    size: int
    flags: int
    body: bytes

    @property
    def is_made_up(self) -> bool:
        """Not in the file: the server tells the connection something."""
        return bool(self.flags & _ARTIFICIAL) or self.end == 0


class Framing:
    """Finds events in what a server sends; the files of a log say themselves whether events have checksums."""

    def __init__(self) -> None:
        self._checked = False

    def event(self, data: bytes) -> Event:
        """:raises ValueError: it is damaged."""
        time, kind, server, size, end, flags = _head(data)
        if kind == kinds.FORMAT:
            self._checked = data[-5] == 1 if len(data) > HEADER + 62 else False
            body = data[HEADER:-4]
        elif kind in (kinds.ROTATE, kinds.HEARTBEAT, kinds.HEARTBEAT_V2):
            # They may come before the file has said anything, and are checked as the file before was.
            body = data[HEADER:-4] if _is_right(data) else data[HEADER:]
        elif self._checked:
            if not _is_right(data):
                raise ValueError(f"an event (kind {kind}) of the binary log is damaged: its checksum is wrong")
            body = data[HEADER:-4]
        else:
            body = data[HEADER:]
        return Event(kind, time, server, end, size, flags, body)


def _is_right(data: bytes) -> bool:
    return zlib.crc32(memoryview(data)[:-4]) == int.from_bytes(data[-4:], "little")


def events_within(data: bytes) -> Iterator[Event]:
    """Those of a compressed transaction: they have no checksums."""
    at = 0
    while at < len(data):
        time, kind, server, size, end, flags = _head(data, at)
        if size < HEADER:
            raise ValueError("a compressed transaction has an event without a header")
        yield Event(kind, time, server, end, size, flags, data[at + HEADER : at + size])
        at += size
