"""The protocol in which PostgreSQL sends its log, on psycopg's plain libpq.

psycopg2 has a class for it, but it confirms by itself what it believes to be read: here only checkpoints do.
"""

from __future__ import annotations

import os
import select
import struct
import time
from dataclasses import replace
from typing import Any, NamedTuple

from millrace.connectors.cdc.postgres.pgoutput import EPOCH_MS
from millrace.connectors.cdc.postgres.positions import lsn_text
from millrace.connectors.jdbc.dialects.libpq import arguments
from millrace.connectors.jdbc.dialects.postgresql import psycopg
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["Keepalive", "StreamFailed", "WalStream"]

_COPY_BOTH = 8
_DATA, _KEEPALIVE = ord("w"), ord("k")
_HEADER = 25
"""bytes before the plugin's message: letter, two places in the log, a time"""
_STATUS = struct.Struct(">cQQQqB")


class StreamFailed(Exception):
    """The server refuses, or is gone. :ivar state: the SQLSTATE, empty if the connection was lost."""

    def __init__(self, message: str, state: str = "") -> None:
        super().__init__(message)
        self.state = state


class Keepalive(NamedTuple):
    """Everything that was committed before ``end`` has been sent. :ivar asked: the server wants to hear from us."""

    end: int
    asked: bool


class WalStream:
    """A connection over which a slot is read. Used by one thread, but for ``wake_up``."""

    def __init__(self, target: Target, name: str) -> None:
        """:raises StreamFailed: there is no connection."""
        self._pq: Any = psycopg().pq
        self._target = target
        said = ""
        for host in target.hosts:
            given = {**arguments(replace(target, hosts=(host,))), "application_name": name, "replication": "database"}
            text = psycopg().conninfo.make_conninfo(**given)
            self._connection = self._pq.PGconn.connect_start(text.encode())
            if not (said := self._connected(float(given["connect_timeout"]))):
                break
            self._connection.finish()
        else:
            raise StreamFailed(target.masked(Exception(said)))
        self._woken, self._wake = os.pipe()

    def _connected(self, seconds: float) -> str:
        """Wait for the connection; what is wrong with it. libpq's own way to wait keeps the interpreter's lock, so that
        the whole process stands."""
        polling, until = self._pq.PollingStatus, time.monotonic() + seconds
        while (status := self._connection.connect_poll()) != polling.OK:
            if status == polling.FAILED:
                return str(self._connection.get_error_message())
            wanted = [self._connection.socket]
            reads, writes = (wanted, []) if status == polling.READING else ([], wanted)
            if not any(select.select(reads, writes, [], max(0.0, until - time.monotonic()))):
                return f"no connection within {seconds:g} s"
        return ""

    def start(self, slot: str, publication: str, begin: int) -> None:
        """Ask for the log of a slot. :raises StreamFailed: the server refuses."""
        quoted = publication.replace('"', '""').replace("'", "''")
        command = (
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text(begin)} '
            f"(proto_version '1', publication_names '\"{quoted}\"')"
        )
        result = self._connection.exec_(command.encode())
        if result.status != _COPY_BOTH:
            raise self._failed(result)

    def receive(self) -> bytes | Keepalive | None:
        """A message of the plugin, or word that the server lives; None: nothing is here yet. Does not wait."""
        while True:
            try:
                size, data = self._connection.get_copy_data(1)
                if size == 0:
                    self._connection.consume_input()
                    size, data = self._connection.get_copy_data(1)
            except psycopg().Error as error:
                raise StreamFailed(self._target.masked(error)) from None
            if size == 0:
                return None
            if size < 0:
                raise self._failed(self._connection.get_result())
            if data[0] == _DATA:
                return bytes(data[_HEADER:])
            if data[0] == _KEEPALIVE:
                end, _, asked = struct.unpack_from(">QqB", data, 1)
                return Keepalive(end, bool(asked))

    def wait(self, seconds: float) -> bool:
        """Until something comes or ``wake_up`` is called. False: neither within that time."""
        ready = select.select([self._connection.socket, self._woken], [], [], max(0.0, seconds))[0]
        if self._woken in ready:
            os.read(self._woken, 4096)
        return bool(ready)

    def wake_up(self) -> None:
        os.write(self._wake, b"x")

    def tell(self, flushed: int, ask: bool = False) -> None:
        """Confirm everything before a place of the log; 0: nothing new. :param ask: for an answer."""
        now = int(time.time() * 1000 - EPOCH_MS) * 1000
        try:
            self._connection.put_copy_data(_STATUS.pack(b"r", flushed, flushed, 0, now, ask))
            self._connection.flush()
        except psycopg().Error as error:
            raise StreamFailed(self._target.masked(error)) from None

    def close(self) -> None:
        self._connection.finish()
        os.close(self._woken)
        os.close(self._wake)

    def _failed(self, result: Any) -> StreamFailed:
        said = result.get_error_message() if result is not None else self._connection.get_error_message()
        state = result.error_field(self._pq.DiagnosticField.SQLSTATE) if result is not None else None
        return StreamFailed(self._target.masked(Exception(said)) or "the connection ended", (state or b"").decode())
