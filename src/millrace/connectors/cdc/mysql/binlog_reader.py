"""``MySqlLogReader``: reads the binary log of some tables behind a position, and finds where a capture begins.

A start may be named by file and offset, by a set of GTIDs or by a time. The reader connects again by itself when the
connection is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.cdc.changes import Change, LogPart
from millrace.connectors.cdc.database import LogReader, PositionLost, StartupMode, StartupOptions
from millrace.connectors.cdc.events import SchemaChangeEvent
from millrace.connectors.cdc.mysql import binlog_stream
from millrace.connectors.cdc.mysql.binlog_position import Gtids, MariaDbGtids, Mark, MySqlGtids, Position, file_number
from millrace.connectors.cdc.mysql.binlog_rows import table_number
from millrace.connectors.cdc.mysql.binlog_stream import FIRST, Begin, Event, LogConnectionLost, LogRefused, LogStream
from millrace.connectors.cdc.mysql.binlog_transactions import PreparedReader, Step, Transactions
from millrace.connectors.cdc.mysql.mysql_server import Server
from millrace.connectors.cdc.mysql.schema_history import TableAt, TrackedTables
from millrace.connectors.dbapi import Connection
from millrace.connectors.stores import ConnectionFailed

Events = list[Change | SchemaChangeEvent]
MOST = 4_096
"""changes that are given at once, about"""
_PAUSE = 0.5


@dataclass(frozen=True)
class Wire:
    """How to come to a log.

    :ivar find: a position in the log of the server that is there now, which may be another one than before.
    :ivar open: a stream that begins somewhere.
    :ivar retries: how often it is tried at least to come back to a server that is gone, and :ivar seconds: how long.
    """

    server: Server
    find: Callable[[Position], Position]
    open: Callable[[Begin], LogStream]
    prepared: PreparedReader
    retries: int = 3
    seconds: float = 30.0


@dataclass
class MySqlLogReader(LogReader):
    """Reads the log, and reconnects by itself.

    :ivar position: the position after the last change that was returned.
    """

    wire: Wire
    position: Position
    followed: TrackedTables
    _stream: LogStream | None = field(default=None, init=False)
    _transactions: Transactions | None = field(default=None, init=False)
    _tables: dict[int, TableAt] = field(default_factory=dict, init=False)
    _left: Iterator[Event] = field(default=iter(()), init=False)
    _failed: int = field(default=0, init=False)
    _lost: float = field(default=0.0, init=False)
    """when the first of the current run of failures happened (seconds of the monotonic clock)"""

    def read(self, seconds: float) -> LogPart | None:
        """:raises PositionLost: what comes next is gone.
        :raises RuntimeError: the server cannot be reached any more, or its log is not what is needed.
        """
        try:
            found = self._read(seconds)
        except LogRefused as error:
            self._drop()
            if error.is_gone:
                raise position_lost(self.wire.server, self.position, error.message) from None
            raise self.wire.server.refused_log(error.code, error.message) from None
        except LogConnectionLost as error:
            self._wait(str(error))
            return None
        except ConnectionFailed as error:
            if not error.passing:
                raise
            self._wait(str(error))
            return None
        except ValueError as error:
            raise RuntimeError(
                f"{self.wire.server.title} at {self.wire.server.place}, log behind {self.position}: {error}"
            ) from error
        return found

    def _wait(self, reason: str) -> None:
        """:raises RuntimeError: the server is away for too long."""
        self._drop()
        self._failed += 1
        if self._failed == 1:
            self._lost = time.monotonic()
        elif self._failed > self.wire.retries and time.monotonic() - self._lost > self.wire.seconds:
            server = self.wire.server
            raise RuntimeError(f"{server.title} at {server.place}: the log cannot be read any more: {reason}")
        time.sleep(_PAUSE)

    def _read(self, seconds: float) -> LogPart | None:
        stream, transactions = self._opened()
        events: Events = []
        known = self.position
        event = next(self._left, None)
        if event is None:
            self._left = stream.events(seconds)
            event = next(self._left, None)
        while event is not None:
            self._failed = 0
            for step in transactions.steps(event):
                self._take(step, transactions, events)
            if len(events) >= MOST:
                break
            event = next(self._left, None)
        self.position = self._now(transactions)
        if not events and self.position == known:
            return None
        return LogPart(events, self.position)

    def _take(self, step: Step, transactions: Transactions, events: Events) -> None:
        event = step.event
        if step.number == 0:
            at, changes = self.followed.described(event.body)
            events += changes
            if at is None:
                self._tables.pop(table_number(event.body), None)
            else:
                self._tables[table_number(event.body)] = at
            return
        if self._was_read(step, transactions):
            return
        if step.statement is not None:
            events += self.followed.changed(step.statement)
            return
        table = self._tables.get(table_number(event.body))
        if table is not None:
            events += self._changes(table, step, transactions)

    def _was_read(self, step: Step, transactions: Transactions) -> bool:
        position = self.position
        return (
            bool(position.event)
            and transactions.offset == position.offset
            and transactions.file == position.file
            and step.number <= position.event
        )

    def _changes(self, table: TableAt, step: Step, transactions: Transactions) -> Iterator[Change]:
        event, relation = step.event, table.relation
        mark = Mark(
            self.position.life, file_number(transactions.file), transactions.offset, step.number, transactions.file,
            event.server, transactions.gtid,
        )  # fmt: skip
        when = event.time * 1000
        what = binlog_stream.ROWS[event.kind]
        keys = relation.schema.key_places
        for before, after in table.decoder.rows(event):
            if what != binlog_stream.UPDATE:
                yield Change("c" if before is None else "d", relation, before, after, mark, when)
            elif keys and any(before[place] != after[place] for place in keys):  # type: ignore[index]
                yield Change("d", relation, before, None, mark, when)
                yield Change("c", relation, None, after, mark, when)
            else:
                yield Change("u", relation, before, after, mark, when)

    def _now(self, transactions: Transactions) -> Position:
        known = self.position
        file, offset, event = transactions.file, transactions.offset, transactions.count
        if file == known.file and offset == known.offset and event <= known.event:
            return known
        gtids = "" if transactions.gtids is None else str(transactions.gtids)
        return Position(known.life, file_number(file), offset, event, file, known.server, gtids)

    # -- the connection -----------------------------------------------------------------------------------------

    def _opened(self) -> tuple[LogStream, Transactions]:
        if self._stream is None or self._transactions is None:
            position = self.position = self.wire.find(self.position)
            self._stream = self.wire.open(Begin(position.file, position.offset))
            self._left = iter(())
            self._tables.clear()
            gtids = known_gtids(position.gtids, self.wire.server.mariadb)
            self._transactions = Transactions(position.file, position.offset, gtids, self._replay)
        return self._stream, self._transactions

    def _replay(self, name: str) -> Iterator[Step]:
        transactions = self._transactions
        assert transactions is not None
        where = transactions.prepared.get(name)
        return self.wire.prepared.steps(name, where, (transactions.file, transactions.offset))

    def _drop(self) -> None:
        stream, self._stream, self._transactions = self._stream, None, None
        self._left = iter(())
        if stream is not None:
            stream.close()

    def close(self) -> None:
        self._drop()


def known_gtids(text: str, mariadb: bool) -> Gtids | None:
    """A set that grows; None: transactions are not counted."""
    if not text:
        return None
    return MariaDbGtids.parse(text) if mariadb else MySqlGtids.parse(text)


def position_lost(server: Server, position: Any, said: str) -> PositionLost:
    """What to do when the log does not go back far enough."""
    return PositionLost(
        f"{server.title} at {server.place} no longer has its log behind {position} ({said}). Changes since then cannot "
        f"be read any more: start the job without its state, so that it takes a new snapshot. Let the server keep its "
        f"log for longer than a job may be down: binlog_expire_logs_seconds (MariaDB also expire_logs_days)"
    )


_SECONDS = 60.0
"""The most seconds that a server may be silent."""
Open = Callable[[Begin], LogStream]


def start_position(startup: StartupOptions, server: Server, connection: Connection, open_stream: Open) -> Position:
    """:raises PositionLost: the log does not go back to there.
    :raises ValueError: there is no such way to begin."""
    mode = startup.mode
    if mode is StartupMode.COMMITTED_OFFSETS:
        raise ValueError(f"{server.title} does not know where others have read its log: there is no '{mode.value}'")
    if mode is StartupMode.EARLIEST_OFFSET:
        return server.at(server.files(connection)[0][0], FIRST)
    if mode is StartupMode.SPECIFIC_OFFSETS:
        return _named_position(startup.offset, server, connection, open_stream)
    if mode is StartupMode.TIMESTAMP:
        return _position_at_time(startup.timestamp or 0, server, connection, open_stream)
    return end_of_log(server, connection)


def end_of_log(server: Server, connection: Connection, life: int = 0) -> Position:
    """The end of the log: whatever is before it is seen by everybody from now on."""
    if not server.mariadb:
        return server.position(connection, life)
    exact = server.snapshot(connection, life)
    connection.commit()
    return exact._replace(gtids=server.gtids(connection, exact.file, exact.offset))


def _named_position(offset: Any, server: Server, connection: Connection, open_stream: Open) -> Position:
    if isinstance(offset, Mapping):
        gtids, file, place = offset.get("gtids"), offset.get("file"), offset.get("pos", FIRST)
    elif isinstance(offset, (tuple, list)):
        gtids, (file, place) = None, offset
    else:
        gtids, file, place = str(offset), None, FIRST
    if gtids:
        return after_gtids(str(gtids), server, connection, open_stream)
    if file is None:
        raise ValueError("a place of the log is a file and a position in it, or a set of GTIDs")
    found = server.at(str(file), int(place))
    check_position(found, server, connection)
    if server.mariadb:
        found = found._replace(gtids=server.gtids(connection, found.file, found.offset))
    return found


def check_position(position: Position, server: Server, connection: Connection) -> None:
    """:raises PositionLost: the log of the server does not have a place."""
    sizes = dict(server.files(connection))
    if position.file not in sizes:
        first = next(iter(sizes), "nothing")
        raise position_lost(server, position, f"it begins with {first}")
    # Behind a transaction of GBs the next one is in the next file.
    if position.offset > sizes[position.file] and position.offset < 1 << 32:
        raise position_lost(
            server, position, f"{position.file} has {sizes[position.file]} bytes: it is another file by now"
        )


def after_gtids(gtids: str, server: Server, connection: Connection, open_stream: Open, life: int = 0) -> Position:
    """The first transaction that is not in a set.

    :raises PositionLost: the server has no log any more of one that is not in the set.
    """
    end = server.position(connection, life)
    stream = open_stream(Begin(gtids=gtids))
    at = Transactions("", FIRST, None, lambda name: iter(()))
    try:
        for event in _until_silence(stream):
            for _ in at.steps(event):
                pass
            if event.kind in (
                binlog_stream.GTID,
                binlog_stream.ANONYMOUS_GTID,
                binlog_stream.TAGGED_GTID,
                binlog_stream.MARIADB_GTID,
            ):
                return server.at(at.file, at.offset, gtids, life)
            if event.kind == binlog_stream.HEARTBEAT and (at.file, event.end) >= (end.file, end.offset):
                return end._replace(gtids=gtids)
    except LogRefused as error:
        if error.is_gone:
            raise position_lost(server, gtids, error.message) from None
        raise server.refused_log(error.code, error.message) from None
    finally:
        stream.close()
    return end


def _position_at_time(milliseconds: int, server: Server, connection: Connection, open_stream: Open) -> Position:
    """The first transaction that ran at a time or later; times of the log have seconds."""
    end = server.position(connection)
    files = [name for name, _ in server.files(connection)]
    begins = next(
        (file for file in reversed(files) if _begin_of_file(file, open_stream) * 1000 <= milliseconds), files[0]
    )
    stream = open_stream(Begin(begins, FIRST))
    at = Transactions(begins, FIRST, None, lambda name: iter(()))
    try:
        for event in _until_silence(stream):
            for _ in at.steps(event):
                pass
            here = server.at(at.file, at.offset)
            if here >= end:
                break
            is_first = event.kind in (
                binlog_stream.GTID,
                binlog_stream.ANONYMOUS_GTID,
                binlog_stream.TAGGED_GTID,
                binlog_stream.MARIADB_GTID,
            )
            if is_first and event.time * 1000 >= milliseconds:
                gtids = server.gtids(connection, here.file, here.offset) if server.mariadb else ""
                return here._replace(gtids=gtids)
    finally:
        stream.close()
    return end


def _begin_of_file(file: str, open_stream: Open) -> int:
    """The time (s since 1970) at which a file of the log was begun."""
    stream = open_stream(Begin(file, FIRST))
    try:
        return next((event.time for event in _until_silence(stream) if event.kind == binlog_stream.FORMAT), 0)
    finally:
        stream.close()


def _until_silence(stream: LogStream) -> Iterator[Event]:
    """:raises LogConnectionLost: nothing comes."""
    last = time.monotonic()
    while time.monotonic() - last < _SECONDS:
        for event in stream.events(1.0):
            last = time.monotonic()
            yield event
    raise LogConnectionLost("the server says nothing of its log")
