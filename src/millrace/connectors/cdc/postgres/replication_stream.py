"""``WalStream``: the protocol in which PostgreSQL sends its log, and the messages of the plugin ``pgoutput``.

It is spoken on psycopg's plain libpq: psycopg2 has a class for it, but it confirms by itself what it believes to be
read. Here only checkpoints confirm. A slot may still be held by a reader that is dead or slow; ``start_stream`` waits
for it or ends it.
"""

from __future__ import annotations

import logging
import os
import select
import struct
import time
from dataclasses import replace
from typing import Any, NamedTuple

from millrace.connectors.cdc.changes import UNCHANGED
from millrace.connectors.cdc.database import PositionLost
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings, connected
from millrace.connectors.cdc.postgres.replication_slot import LogPosition, check_position, lsn_text, slot_state
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.postgresql import libpq_arguments, psycopg
from millrace.connectors.stores import ConnectionFailed

EPOCH_MS = 946_684_800_000
"""PostgreSQL counts microseconds from 2000-01-01"""
_BEGIN = struct.Struct(">QqI")
_COMMIT = struct.Struct(">BQQq")
_COUNT = struct.Struct(">H")
_LENGTH = struct.Struct(">I")
_NULL, _UNCHANGED = ord("n"), ord("u")


class Begin(NamedTuple):
    """A transaction begins. :ivar commit: where its commit is written. :ivar time: ms since 1970."""

    commit: int
    time: int
    xid: int


class Described(NamedTuple):
    """A table as it is at this place of the log. :ivar columns: name, number of the type, its modifier, part of the
    replica identity."""

    number: int
    schema: str
    name: str
    identity: str
    columns: tuple[tuple[str, int, int, bool], ...]


def read_begin(message: bytes) -> Begin:
    commit, time, xid = _BEGIN.unpack_from(message, 1)
    return Begin(commit, EPOCH_MS + time // 1000, xid)


def read_commit(message: bytes) -> int:
    """Where what follows begins."""
    return int(_COMMIT.unpack_from(message, 1)[2])


def read_relation(message: bytes) -> Described:
    number = _LENGTH.unpack_from(message, 1)[0]
    schema, place = _read_text(message, 5)
    name, place = _read_text(message, place)
    identity = chr(message[place])
    count = _COUNT.unpack_from(message, place + 1)[0]
    place += 3
    columns = []
    for _ in range(count):
        in_identity = message[place] == 1
        column, place = _read_text(message, place + 1)
        kind, modifier = struct.unpack_from(">Ii", message, place)
        place += 8
        columns.append((column, kind, modifier, in_identity))
    return Described(number, schema or "pg_catalog", name, identity, tuple(columns))


def read_truncate(message: bytes) -> tuple[int, ...]:
    """The numbers of the tables."""
    count = _LENGTH.unpack_from(message, 1)[0]
    return struct.unpack_from(f">{count}I", message, 6)


def read_row(message: bytes, place: int) -> tuple[tuple[Any, ...], int]:
    """A row from a place of a message on, and the place behind it."""
    count = _COUNT.unpack_from(message, place)[0]
    place += 2
    values: list[Any] = []
    for _ in range(count):
        kind = message[place]
        place += 1
        if kind == _NULL:
            values.append(None)
        elif kind == _UNCHANGED:
            values.append(UNCHANGED)
        else:
            begin = place + 4
            place = begin + int.from_bytes(message[place:begin], "big")
            values.append(message[begin:place].decode())
    return tuple(values), place


def _read_text(message: bytes, place: int) -> tuple[str, int]:
    end = message.index(0, place)
    return message[place:end].decode(), end + 1


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
            given = {
                **libpq_arguments(replace(target, hosts=(host,))),
                "application_name": name,
                "replication": "database",
            }
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


logger = logging.getLogger(__name__)

AGAIN_SECONDS = 0.2
_IN_USE = "55006"
_PASSING = ("", "08", "53", "55006", "57")
"""beginnings of SQLSTATEs that are over some time: no connection, no room, in use, starting or ending"""
_READER = "SELECT application_name, client_addr::text FROM pg_stat_activity WHERE pid = %s"


def start_stream(settings: PostgresSettings, position: LogPosition, name: str) -> WalStream:
    """The log of the slot behind a position.

    A reader of the same job that is still there (its process hangs, or the server has not noticed its end) is ended: it
    has the same name.

    :raises PositionLost: the slot is gone or begins later.
    :raises TimeoutError: it is in use by others, or the server cannot be reached, for ``settings.wait`` seconds.
    """
    until = time.monotonic() + settings.wait
    while True:
        try:
            return _once(settings, position, name)
        except ConnectionFailed as error:
            if not error.passing:
                raise
            reason: Exception = error
        except StreamFailed as error:
            if error.state and not error.state.startswith(_PASSING[1:]):
                raise PositionLost(
                    f"{settings.place}: replication slot '{settings.slot}' does not give its log behind "
                    f"{lsn_text(position.lsn)}: {error}"
                ) from None
            reason = error
        if time.monotonic() > until:
            raise TimeoutError(
                f"{settings.place}: replication slot '{settings.slot}' could not be read within {settings.wait:g} s: "
                f"{reason}"
            ) from None
        time.sleep(AGAIN_SECONDS)


def _once(settings: PostgresSettings, position: LogPosition, name: str) -> WalStream:
    with connected(settings, name) as connection:
        state = slot_state(connection, settings.slot)
        check_position(state, position.lsn, settings)
        assert state is not None
        if state.active is not None:
            _end_own(connection, state.active, name)
    stream = WalStream(settings.target, name)
    try:
        stream.start(settings.slot, settings.publication_name, position.lsn)
    except StreamFailed as error:
        stream.close()
        if error.state != _IN_USE:
            raise
        with connected(settings, name) as connection:
            raise StreamFailed(f"{error}{_who(connection, settings.slot)}", error.state) from None
    except BaseException:
        stream.close()
        raise
    return stream


def _end_own(connection: Any, process: int, name: str) -> None:
    found = connection.execute(_READER, [process]).fetchone()
    if found is not None and found[0] == name:
        logger.warning("an earlier reader of this job is still there, and is ended: process %d of the server", process)
        connection.execute("SELECT pg_terminate_backend(%s)", [process])


def _who(connection: Any, slot: str) -> str:
    state = slot_state(connection, slot)
    found = None if state is None or state.active is None else connection.execute(_READER, [state.active]).fetchone()
    return "" if found is None else f" ('{found[0]}' at {found[1]}): a slot is for one job"
