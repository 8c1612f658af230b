"""``LogStream``: a connection over which a server sends its binary log."""

from __future__ import annotations

import struct
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.mysql.log.event import Event, Framing
from millrace.connectors.cdc.mysql.log.gtids import MySqlGtids

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
        """Those that are there, after waiting for the first one for so long at most.

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
