"""Captures of tables of a MariaDB, and what must come of them: the table itself, replayed change by change."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

import pymysql

from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Change, Chunking, Relation
from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.deserializers import EventDecoder
from millrace.connectors.cdc.events import DataChangeEvent, Event, OperationType, SchemaChangeEvent, TableId
from millrace.connectors.cdc.mysql.mysql_database import MySqlDatabase, MySqlSettings
from millrace.connectors.jdbc.dialect import Target
from millrace.testing.services import MariaDB

SECONDS = 60.0


class Server:
    """A server, asked without the code that is tested."""

    def __init__(self, server: MariaDB) -> None:
        self.server = server
        self.target = Target((("127.0.0.1", server.port),), "", server.user, server.password)

    def connect(self, **more: Any) -> Any:
        given = {"user": self.server.user, "password": self.server.password, "database": self.server.database}
        return pymysql.connect(
            host="127.0.0.1", port=self.server.port, autocommit=True, init_command="SET time_zone = '+00:00'",
            **{**given, **more},
        )  # fmt: skip

    def run(self, *statements: str) -> list[Any]:
        """Of the last one the rows."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def create(self, columns: str, more: str = "") -> TableId:
        """A new table."""
        name = f"c_{uuid.uuid4().hex[:10]}"
        self.run(f"CREATE TABLE {name} ({columns}) {more}")
        return TableId("", self.server.database, name)

    def database(self, *tables: TableId, **more: Any) -> MySqlDatabase:
        names = tuple(rf"{table.schema}\.{table.table}" for table in tables)
        return MySqlDatabase(MySqlSettings(self.target, (".*",), names, **{"heartbeat": 1.0, **more}))

    def source(
        self,
        *tables: TableId,
        startup: StartupOptions = StartupOptions(),  # noqa: B008
        rows: int = 8096,
        newly_added: bool = False,
        **more: Any,
    ) -> CdcSource[Event]:
        database = self.database(*tables, **more)
        return CdcSource(database, EventDecoder(), startup, Chunking(rows), newly_added=newly_added)


class LogOf:
    """The log from now on, for some tables."""

    def __init__(self, database: MySqlDatabase, position: Any = None) -> None:
        self.database = database
        tables = database.tables()
        self.position = database.prepare(StartupOptions.latest(), list(tables), "t") if position is None else position
        self.relations = [Relation(table, schema) for table, schema in tables.items()]

    def read(self, count: int, done: Callable[[Sequence[Any]], bool] = lambda events: False) -> list[Any]:
        """At least so many events."""
        reader = self.database.open_log(self.position, self.relations, "t")
        found: list[Any] = []
        until = time.monotonic() + SECONDS
        try:
            while len(found) < count and not done(found):
                part = reader.read(0.2)
                if part is not None:
                    found += part.events
                    self.position = part.position
                    for event in part.events:
                        if isinstance(event, Change):
                            self.relations = [
                                event.relation if each.table == event.relation.table else each
                                for each in self.relations
                            ]
                assert time.monotonic() < until, f"{len(found)} of {count} events came: {found[-3:]}"
        finally:
            reader.close()
        return found


def replayed(events: Iterable[Event]) -> dict[TableId, dict[Any, tuple[Any, ...]]]:
    """What the tables are after all events, by key. Fails where an event does not fit: it is doubled, or one before it
    was lost."""
    tables: dict[TableId, dict[Any, tuple[Any, ...]]] = {}
    for event in events:
        if isinstance(event, SchemaChangeEvent):
            continue
        assert isinstance(event, DataChangeEvent)
        rows = tables.setdefault(event.table, {})
        places = event.schema.key_places or range(len(event.schema.columns))

        def key(row: tuple[Any, ...], places: Any = places) -> Any:
            return tuple(row[place] for place in places)

        if event.before is not None:
            found = rows.pop(key(event.before), None)
            assert found is not None, f"a row is changed that is not there: {event}"
            if len(found) == len(event.before):  # no column was added or dropped since
                assert found == event.before, f"the row was {found}: {event}"
        if event.after is not None:
            assert key(event.after) not in rows, f"a row comes a second time: {event}"
            rows[key(event.after)] = event.after
        assert event.op is not OperationType.READ or event.before is None
    return tables
