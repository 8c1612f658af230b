"""``PostgresLog``: reads a slot, transaction by transaction, and connects again when the connection is lost.

``Relations`` keeps the schemas of the tables as the log has them at its place.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.changes import UNCHANGED, Change, LogPart, Relation
from millrace.connectors.cdc.database import LogReader
from millrace.connectors.cdc.events import Column, SchemaChangeEvent, TableId, TableSchema, TruncateTableEvent, changed
from millrace.connectors.cdc.postgres import postgres_catalog, replication_stream
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings, connect
from millrace.connectors.cdc.postgres.replication_slot import LogPosition, Mark, SlotWatch
from millrace.connectors.cdc.postgres.replication_stream import (
    Described,
    Keepalive,
    StreamFailed,
    WalStream,
    start_stream,
)
from millrace.connectors.jdbc.postgresql import postgresql_type


@dataclass(frozen=True, eq=False)
class DescribedTable:
    """A table as messages call it. :ivar relation: None: it is not captured. :ivar keys: places of the primary key.

    :ivar whole: whether old rows are there as a whole.
    """

    relation: Relation | None
    keys: tuple[int, ...] = ()
    whole: bool = False


class Relations:
    """By the numbers that messages have for tables.

    :param wanted: the captured tables, as they are at the place where the log is begun.
    :param asking: gives a connection for questions.
    """

    def __init__(self, namespace: str, wanted: Sequence[Relation], asking: Callable[[], Any]) -> None:
        self._namespace = namespace
        self._known: dict[TableId, Relation] = {each.table: each for each in wanted}
        self._tables: dict[int, DescribedTable] = {}
        self._names: dict[int, TableId] = {}
        self._asking = asking

    def forget(self) -> None:
        """The server starts over, and tells all tables again."""
        self._tables.clear()

    def __getitem__(self, number: int) -> DescribedTable:
        return self._tables[number]

    def take(self, described: Described) -> None:
        """Take in a message that describes a table. :raises RuntimeError: a captured table has another name now."""
        table = TableId(self._namespace, described.schema, described.name)
        before = self._names.get(described.number)
        if before is not None and before != table and before in self._known:
            raise RuntimeError(
                f"table {before} was renamed to {table}, and what happens to it would be lost: give it its name "
                f"back, or capture the new name with a job of its own"
            )
        self._names[described.number] = table
        known = self._known.get(table)
        if known is None:
            self._tables[described.number] = DescribedTable(None)
            return
        schema = self._schema(described, known.schema)
        relation = known if _same_schema(schema, known.schema) else Relation(table, schema)
        keys = tuple(schema.names.index(name) for name in schema.primary_key)
        self._tables[described.number] = DescribedTable(relation, keys, described.identity == "f")

    def follow(self, told: DescribedTable) -> tuple[SchemaChangeEvent, ...]:
        """A change of a table is read: what is new about its schema."""
        relation = told.relation
        assert relation is not None
        known = self._known[relation.table]
        if relation is known:
            return ()
        self._known[relation.table] = relation
        return changed(relation.table, known.schema, relation.schema)

    def _schema(self, described: Described, known: TableSchema) -> TableSchema:
        connection = self._asking()
        natives = postgres_catalog.native_types(
            connection, [(kind, modifier) for _, kind, modifier, _ in described.columns]
        )
        before = {column.name: column for column in known.columns}
        columns = []
        for (name, kind, _, _), native in zip(described.columns, natives):
            earlier = before.get(name)
            if native is None:
                raise RuntimeError(
                    f"column '{name}' of table {described.schema}.{described.name} has a type (number {kind}) that the "
                    f"database does not have any more"
                )
            if earlier is not None and earlier.native == native:
                columns.append(earlier)
            else:
                columns.append(Column(name, postgresql_type(native), native))
        names = {column.name for column in columns}
        key = postgres_catalog.key_of(connection, described.number)
        if not key or not names.issuperset(key):
            key = known.primary_key if names.issuperset(known.primary_key) else ()
        return TableSchema(tuple(columns), key, known.comment)


def _same_schema(one: TableSchema, other: TableSchema) -> bool:
    """Whether rows mean the same: NOT NULL and defaults make no difference to the log."""
    return one.primary_key == other.primary_key and [(each.name, each.native) for each in one.columns] == [
        (each.name, each.native) for each in other.columns
    ]


logger = logging.getLogger(__name__)

MOST_EVENTS = 5_000
LOOK_AT_CLOCK = 256
STATUS_SECONDS = 10.0
Events = list[Change | SchemaChangeEvent]

_BEGIN, _COMMIT, _RELATION, _TRUNCATE = map(ord, "BCRT")
_INSERT, _UPDATE, _DELETE, _NEW, _OLD = map(ord, "IUDNO")
_KEY_ONLY = ord("K")
_ADMIN_SHUTDOWN = "57P01"
"""the server shuts down, or another reader of this job has taken over: then this one must not come back"""


class PostgresLog(LogReader):
    """Goes on by itself when the connection is lost, if the server is back within ``PostgresSettings.wait`` seconds."""

    def __init__(
        self, settings: PostgresSettings, position: LogPosition, wanted: Sequence[Relation], name: str
    ) -> None:
        self._settings, self._name = settings, name
        self._position = position
        self._relations = Relations(settings.target.database, wanted, self._asking)
        self._question: Any = None
        self._stream: WalStream | None = None
        self._watch = SlotWatch(settings)
        self._recorded: deque[int] = deque()
        """positions of checkpoints that are not confirmed to the server yet"""
        self._confirmed = 0
        self._transaction: replication_stream.Begin | None = None
        self._mark = Mark(0, 0)
        self._skip = 0
        """changes of the next transaction to skip, since an earlier reader has returned them"""
        self._next_status = 0.0
        self._next_heartbeat = 0.0

    def read(self, seconds: float) -> LogPart | None:
        begin, until = self._position, time.monotonic() + seconds
        events: Events = []
        stream = self._stream or self._start()
        try:
            self._gather(stream, events, until)
        except StreamFailed as error:
            self._stop()
            if error.state.startswith(_ADMIN_SHUTDOWN):
                raise
            logger.warning("%s: the log broke off, and is asked for again: %s", self._settings.place, error)
        if not events and self._position == begin:
            return None
        return LogPart(events, self._position)

    def _gather(self, stream: WalStream, events: Events, until: float) -> None:
        messages = 0
        while len(events) < MOST_EVENTS:
            message = stream.receive()
            if message is None:
                self._rest(stream)
                if events or not stream.wait(until - time.monotonic()):
                    return
                if time.monotonic() >= until:
                    return
                continue
            if isinstance(message, Keepalive):
                self._hear(stream, message)
                continue
            self._take(message, events)
            messages += 1
            if messages % LOOK_AT_CLOCK == 0 and time.monotonic() >= until:
                return

    # -- messages -----------------------------------------------------------------------------------------------

    def _take(self, message: bytes, events: Events) -> None:
        kind = message[0]
        if kind in (_INSERT, _UPDATE, _DELETE):
            if self._counts():
                told = self._relations[int.from_bytes(message[1:5], "big")]
                if told.relation is not None:
                    events += self._relations.follow(told)
                    self._change(kind, message, told, told.relation, events)
        elif kind == _BEGIN:
            self._transaction = begin = replication_stream.read_begin(message)
            self._mark = Mark(begin.xid, begin.commit)
            self._skip = self._position.rows
        elif kind == _COMMIT:
            self._transaction = None
            self._position = LogPosition(replication_stream.read_commit(message))
        elif kind == _RELATION:
            self._relations.take(replication_stream.read_relation(message))
        elif kind == _TRUNCATE and self._counts():
            for number in replication_stream.read_truncate(message):
                told = self._relations[number]
                if told.relation is not None:
                    events += self._relations.follow(told)
                    events.append(TruncateTableEvent(told.relation.table))

    def _counts(self) -> bool:
        """Whether a change of the transaction is new; the position is behind it then."""
        if self._skip:
            self._skip -= 1
            return False
        self._position = LogPosition(self._position.lsn, self._position.rows + 1)
        return True

    def _change(self, kind: int, message: bytes, told: DescribedTable, relation: Relation, events: Events) -> None:
        assert self._transaction is not None
        mark, at = self._mark, self._transaction.time
        if kind == _INSERT:
            after, _ = replication_stream.read_row(message, 6)
            events.append(Change("c", relation, None, after, mark, at))
            return
        place, before, key_only = 5, None, False
        if message[place] != _NEW:
            key_only = message[place] == _KEY_ONLY
            before, place = replication_stream.read_row(message, place + 1)
        if kind == _DELETE:
            events.append(Change("d", relation, before, None, mark, at, key_only))
            return
        after, _ = replication_stream.read_row(message, place + 1)
        if before is None:
            events.append(Change("u", relation, None, after, mark, at))
            return
        if not key_only and UNCHANGED in after:
            after = tuple(old if new is UNCHANGED else new for old, new in zip(before, after))
        if key_only or any(before[key] != after[key] for key in told.keys):
            # A changed key means another row for operators and sinks that identify rows by key.
            events.append(Change("d", relation, before, None, mark, at, key_only))
            events.append(Change("c", relation, None, after, mark, at))
        else:
            events.append(Change("u", relation, before, after, mark, at))

    # -- the server ---------------------------------------------------------------------------------------------

    def _hear(self, stream: WalStream, heard: Keepalive) -> None:
        if self._transaction is None and heard.end > self._position.lsn:
            # Only tables that are not captured were written: the slot must not hold that log back.
            self._position = LogPosition(heard.end)
        if heard.asked:
            stream.tell(self._confirmed)

    def _rest(self, stream: WalStream) -> None:
        """There is time to tell the server how far checkpoints are."""
        now = time.monotonic()
        heartbeat = self._settings.heartbeat > 0 and now >= self._next_heartbeat
        if heartbeat or now >= self._next_status:
            stream.tell(self._confirmed, ask=heartbeat)
            self._next_status = now + STATUS_SECONDS
            if heartbeat:
                self._next_heartbeat = now + self._settings.heartbeat

    def confirm(self, position: Any) -> None:
        # In the middle of a transaction only what is before it is confirmed: it comes again as a whole.
        self._recorded.append(position.lsn)
        if len(self._recorded) <= self._settings.delay:
            return
        self._confirmed = max(self._confirmed, self._recorded.popleft())
        if self._stream is not None:
            with contextlib.suppress(StreamFailed):
                self._stream.tell(self._confirmed)

    def keep_alive(self) -> None:
        if self._stream is not None:
            with contextlib.suppress(StreamFailed):
                self._stream.tell(self._confirmed)

    def lag(self) -> int | None:
        if self._stream is None:
            return None
        with contextlib.suppress(Exception):  # only a figure
            return self._watch.lag(self._asking())
        return None

    def wake_up(self) -> None:
        stream = self._stream
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.wake_up()

    def close(self) -> None:
        if self._stream is not None:
            with contextlib.suppress(StreamFailed):
                self._stream.tell(self._confirmed)
        self._stop()

    def _start(self) -> WalStream:
        """:raises PositionLost: the slot is gone, or begins later. :raises TimeoutError: another job reads it."""
        self._stream = stream = start_stream(self._settings, self._position, self._name)
        self._relations.forget()
        self._transaction = None
        return stream

    def _asking(self) -> Any:
        if self._question is None or self._question.closed:
            self._question = connect(self._settings, self._name)
        return self._question

    def _stop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        if self._question is not None:
            self._question.close()
            self._question = None
