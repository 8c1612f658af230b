"""``LogStream``: the connection over which MySQL or MariaDB sends its binary log, and the events that come over it.

From the bytes of the wire to ``Event``: kinds of events, packed numbers, checksums, and compressed events (MariaDB
single ones, MySQL whole transactions).
"""

from __future__ import annotations

import struct
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.cdc.mysql.binlog_position import MySqlGtids

# Kinds of events

QUERY = 2
STOP = 3
ROTATE = 4
FORMAT = 15
XID = 16
INCIDENT = 26
EXECUTE_LOAD = 18
TABLE_MAP = 19
HEARTBEAT = 27
GTID = 33
ANONYMOUS_GTID = 34
XA_PREPARE = 38
PARTIAL_UPDATE = 39
TRANSACTION_PAYLOAD = 40
HEARTBEAT_V2 = 41
TAGGED_GTID = 42
MARIADB_GTID = 162
MARIADB_QUERY_COMPRESSED = 165

INSERT, UPDATE, DELETE = "insert", "update", "delete"
ROWS = {
    23: INSERT, 24: UPDATE, 25: DELETE,
    30: INSERT, 31: UPDATE, 32: DELETE,
    166: INSERT, 167: UPDATE, 168: DELETE,
    169: INSERT, 170: UPDATE, 171: DELETE,
}  # fmt: skip
"""kind of event -> operation on its rows"""
ROWS_WITH_EXTRA = frozenset((30, 31, 32, 169, 170, 171))
"""events of the second version, which have a number of extra bytes before the rows"""
ROWS_COMPRESSED = frozenset(range(166, 172))
"""events that MariaDB compresses with ``log_bin_compress``"""


# Packed numbers and texts


def packed_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
    if width is None:
        raise ValueError(f"{first:#x} begins no number of MySQL's protocol")
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width


def packed_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """Bytes with their number before them, and where they end."""
    size, at = packed_number(data, at)
    return data[at : at + size], at + size


def packed_numbers(data: bytes) -> list[int]:
    """All numbers that some bytes are made of."""
    found, at = [], 0
    while at < len(data):
        number, at = packed_number(data, at)
        found.append(number)
    return found


def bits(data: bytes, number: int) -> list[bool]:
    """The lowest bit of the first byte first."""
    return [bool(data[place >> 3] >> (place & 7) & 1) for place in range(number)]


# Events and their checksums

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
        """Whether the event is not in the log file: the server made it for this connection."""
        return bool(self.flags & _ARTIFICIAL) or self.end == 0


class Framing:
    """Finds events in what a server sends; the files of a log say themselves whether events have checksums."""

    def __init__(self) -> None:
        self._checked = False

    def event(self, data: bytes) -> Event:
        """:raises ValueError: it is damaged."""
        time, kind, server, size, end, flags = _head(data)
        if kind == FORMAT:
            self._checked = data[-5] == 1 if len(data) > HEADER + 62 else False
            body = data[HEADER:-4]
        elif kind in (ROTATE, HEARTBEAT, HEARTBEAT_V2):
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
    """Yield the events of a compressed transaction; they have no checksums."""
    at = 0
    while at < len(data):
        time, kind, server, size, end, flags = _head(data, at)
        if size < HEADER:
            raise ValueError("a compressed transaction has an event without a header")
        yield Event(kind, time, server, end, size, flags, data[at + HEADER : at + size])
        at += size


# Compressed events

_END, _SIZE, _WAY, _PLAIN = 0, 1, 2, 3
_ZSTD, _NONE = 0, 255
LARGEST = 1 << 31
"""bytes of a transaction; more are refused: they have to be in memory at once"""


def mariadb_plain(data: bytes) -> bytes:
    """What ``log_bin_compress`` has packed.

    :raises ValueError: it is packed in another way, or damaged.
    """
    head = data[0]
    if head & 0x70:
        raise ValueError(f"events are compressed in a way that is not known ({head:#x})")
    width = head & 0x07
    size = int.from_bytes(data[1 : 1 + width], "big")
    try:
        found = zlib.decompress(data[1 + width :])
    except zlib.error as error:
        raise ValueError(f"a compressed event is damaged: {error}") from None
    if len(found) != size:
        raise ValueError(f"a compressed event has {len(found)} bytes and not {size} as it says")
    return found


def transaction_plain(data: bytes) -> bytes:
    """The events within MySQL's TRANSACTION_PAYLOAD_EVENT.

    :raises ValueError: it is packed in another way, or larger than ``LARGEST``.
    """
    at, fields = 0, {}
    while True:
        kind, at = packed_number(data, at)
        if kind == _END:
            break
        width, at = packed_number(data, at)
        fields[kind] = packed_number(data, at)[0]
        at += width
    packed = data[at : at + fields.get(_SIZE, len(data))]
    if fields.get(_WAY) == _NONE:
        return packed
    if fields.get(_WAY) != _ZSTD:
        raise ValueError(f"a transaction is compressed in a way that is not known ({fields.get(_WAY)})")
    size = fields[_PLAIN]
    if size > LARGEST:
        raise ValueError(f"a compressed transaction has {size} bytes, more than the {LARGEST} that are read at once")
    return bytes(pa.decompress(packed, decompressed_size=size, codec="zstd", asbytes=True))


# The connection

_DUMP, _DUMP_GTID = 0x12, 0x1E
_THROUGH_GTID = 0x04
_NO_LOG_THERE = 1236
_LONGEST = 0xFFFFFF
_RECEIVED = 1 << 20
FIRST = 4
"""where the first event of a file is"""


class LogRefused(Exception):
    """The server does not send its log from there. :ivar code: of MySQL."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message

    @property
    def is_gone(self) -> bool:
        """Whether what was asked for is not there (any more)."""
        return self.code == _NO_LOG_THERE and "same server" not in self.message


class LogConnectionLost(Exception):
    """The server is gone, or said nothing for longer than it promised."""


@dataclass(frozen=True)
class Begin:
    """Where a log is read from: a file and a place in it, or behind what GTIDs name."""

    file: str = ""
    offset: int = FIRST
    gtids: str | None = None


class LogStream:
    """Events as they come. One thread reads; ``close`` may be called by another.

    :param connection: of PyMySQL, of which nothing else is left to read; closed with the stream.
    :param server_id: by which the server knows this reader: it ends the connection of another one with the same.
    :param heartbeat: seconds after which the server says that there is nothing.
    """

    def __init__(self, connection: Any, mariadb: bool, server_id: int, begin: Begin, heartbeat: float) -> None:
        self._connection = connection
        self._framing = Framing()
        self._buffer = bytearray()
        self._silence = 3 * heartbeat + 10
        self._heard = time.monotonic()
        self._parts: list[bytes] = []
        self._closing = threading.Lock()
        settings = [
            "@master_binlog_checksum = @@global.binlog_checksum",
            f"@master_heartbeat_period = {int(heartbeat * 1e9)}",
        ]
        if mariadb:
            settings.append("@mariadb_slave_capability = 4")
            if begin.gtids is not None:
                settings += [f"@slave_connect_state = '{begin.gtids}'", "@slave_gtid_strict_mode = 0"]
        else:
            name = uuid.uuid4()
            settings += [f"@slave_uuid = '{name}'", f"@replica_uuid = '{name}'"]
        with connection.cursor() as cursor:
            cursor.execute("SET " + ", ".join(settings))
        if begin.gtids is not None and not mariadb:
            connection._execute_command(_DUMP_GTID, _dump_gtid(server_id, begin.gtids))
        else:
            connection._execute_command(_DUMP, _dump(server_id, begin))
        connection._sock.settimeout(1)

    def events(self, seconds: float) -> Iterator[Event]:
        """Yield the events that have arrived, after waiting at most ``seconds`` for the first one.

        :raises LogRefused: the server refuses.
        :raises LogConnectionLost: the server is gone.
        :raises ValueError: an event is damaged.
        """
        if not self._whole() and not self._receive(seconds):
            return
        while (size := self._whole()) is not None:
            data = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            if size == _LONGEST or self._parts:
                self._parts.append(data)
                if size == _LONGEST:
                    continue
                data, self._parts = b"".join(self._parts), []
            yield self._framing.event(_unwrapped(data))

    def _whole(self) -> int | None:
        """How long the packet is that begins the buffer; None: it is not whole."""
        if len(self._buffer) < 4:
            return None
        size = int.from_bytes(self._buffer[:3], "little")
        return size if len(self._buffer) >= 4 + size else None

    def _receive(self, seconds: float) -> bool:
        """Wait until a packet is whole."""
        until = time.monotonic() + seconds
        while self._whole() is None:
            left = until - time.monotonic()
            if left <= 0:
                self._complain_of_silence()
                return False
            self._read(left)
        return True

    def _read(self, left: float) -> None:
        sock = self._connection._sock
        if sock is None:
            raise LogConnectionLost("the connection is closed")
        try:
            sock.settimeout(max(0.001, left))
            data = sock.recv(_RECEIVED)
        except (TimeoutError, BlockingIOError):
            return
        except (OSError, ValueError) as error:
            raise LogConnectionLost(str(error)) from None
        if not data:
            raise LogConnectionLost("the server has closed the connection")
        self._heard = time.monotonic()
        self._buffer += data

    def _complain_of_silence(self) -> None:
        silent = time.monotonic() - self._heard
        if silent > self._silence:
            raise LogConnectionLost(f"the server has said nothing for {silent:.0f} s")

    def close(self) -> None:
        with self._closing:
            connection, self._connection = self._connection, _Closed()
            connection._force_close()


class _Closed:
    """What is left of a connection."""

    _sock = None

    def _force_close(self) -> None: ...


def _unwrapped(data: bytes) -> bytes:
    """The event in a packet."""
    if data[0] == 0:
        return data[1:]
    if data[0] == 0xFF:
        message = data[9:] if data[3:4] == b"#" else data[3:]
        raise LogRefused(int.from_bytes(data[1:3], "little"), message.decode(errors="replace"))
    raise LogConnectionLost("the server has ended the log")


def _dump(server_id: int, begin: Begin) -> bytes:
    offset = FIRST if begin.gtids is not None else begin.offset
    name = b"" if begin.gtids is not None else begin.file.encode()
    return struct.pack("<IHI", offset, 0, server_id) + name


def _dump_gtid(server_id: int, gtids: str) -> bytes:
    known = MySqlGtids.parse(gtids).encoded()
    return struct.pack("<HIIQI", _THROUGH_GTID, server_id, 0, FIRST, len(known)) + known
