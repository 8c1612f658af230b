"""``MySqlDatabase``: MySQL or MariaDB as a database to capture; ``MySqlSettings`` says where it is and which tables."""

from __future__ import annotations

import logging
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from millrace.connectors.cdc.changes import Bounds, Change, Chunk, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase, LogReader, StartupOptions, retry_query
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.cdc.mysql import binlog_reader, mysql_server, mysql_types, snapshot_chunks
from millrace.connectors.cdc.mysql.binlog_position import Position
from millrace.connectors.cdc.mysql.binlog_reader import MySqlLogReader, Wire
from millrace.connectors.cdc.mysql.binlog_stream import Begin, LogConnectionLost, LogRefused, LogStream
from millrace.connectors.cdc.mysql.binlog_transactions import PreparedReader
from millrace.connectors.cdc.mysql.mysql_server import Server, codec_of, connect, connected, identify
from millrace.connectors.cdc.mysql.schema_history import ServerQuestions, TrackedTables
from millrace.connectors.cdc.mysql.snapshot_chunks import ChunkReader
from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.mysql import MySqlDialect
from millrace.connectors.stores import ConnectionFailed
from millrace.relational.types import DataType

_MOST = (1 << 32) - 1


@dataclass(frozen=True)
class MySqlSettings:
    """The server, the tables to capture, and the ids under which the readers register at the server.

    :ivar databases: regular expressions; :ivar tables: regular expressions of ``database.table``. Each has to match the
        whole name.
    :ivar server_ids: the first and the last of the numbers that are this capture's alone among all that read logs of
        the server; None: any.
    :ivar zone: of the server, for its TIMESTAMP and DATETIME where they are read as the other kind.
    :ivar heartbeat: seconds after which the server says that nothing happens.
    :ivar retries: how often a connection that is lost is tried again.
    :ivar new_tables: whether tables are captured that are made later, from their first row on.
    """

    target: Target
    databases: tuple[str, ...]
    tables: tuple[str, ...]
    server_ids: tuple[int, int] | None = None
    zone: str = "UTC"
    heartbeat: float = 30.0
    retries: int = 3
    new_tables: bool = False

    def __post_init__(self) -> None:
        for text in (*self.databases, *self.tables):
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{text!r} is no regular expression: {error}") from None
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"{self.zone!r} is no time zone: 'UTC', 'Europe/Berlin' are some") from None
        if self.heartbeat < 1:
            raise ValueError(f"the heartbeat interval has to be 1 s at least, not {self.heartbeat:g} s")

    @property
    def place(self) -> str:
        return f"MySQL at {self.target.place.rstrip('/')}"

    @property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def wants(self, table: TableId) -> bool:
        """Whether a table is captured."""
        return any(re.fullmatch(each, table.schema) for each in self.databases) and any(
            re.fullmatch(each, table.short) for each in self.tables
        )

    @property
    def log_id(self) -> int:
        """For the reader of the log: the same one always if there is a range, so that it ends one of its own that the
        server takes for alive."""
        return random.randint(1 << 20, _MOST) if self.server_ids is None else self.server_ids[0]

    @property
    def other_id(self) -> int:
        """A server id for additional readers, which read a piece of the log between two positions."""
        if self.server_ids is None or self.server_ids[0] == self.server_ids[1]:
            return random.randint(1 << 20, _MOST)
        return random.randint(self.server_ids[0] + 1, self.server_ids[1])


def parse_server_ids(text: str) -> tuple[int, int]:
    """``5400`` or ``5400-5408``.

    :raises ValueError: it is neither.
    """
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if match is None:
        raise ValueError(f"'server-id' is a number or a range like 5400-5408, not '{text}'")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 0 < first <= last <= _MOST:
        raise ValueError(f"'server-id' = '{text}': numbers from 1 to {_MOST}, the smaller one first")
    return first, last


logger = logging.getLogger(__name__)
_SECONDS = 60.0
T = TypeVar("T")


@dataclass(frozen=True)
class MySqlDatabase(CdcDatabase):
    """MariaDB says where its log is when a snapshot is taken. MySQL says where it is before and after: what happened in
    between is brought into the rows."""

    settings: MySqlSettings
    title = "MySQL"
    connector = "mysql"

    # -- on the driver ------------------------------------------------------------------------------------------

    def check(self) -> None:
        with self._server() as (server, connection):
            server.check(connection)
            end = server.position(connection)
            stream = self._stream(server, Begin(end.file, end.offset), self.settings.other_id)
            try:
                if next(iter(stream.events(_SECONDS)), None) is None:
                    raise LogConnectionLost(f"nothing came within {_SECONDS:g} s")
            except LogRefused as error:
                raise server.refused_log(error.code, error.message) from None
            except LogConnectionLost as error:
                raise RuntimeError(f"{server.title} at {server.place} does not give its log: {error}") from None
            finally:
                stream.close()

    def tables(self) -> Mapping[TableId, TableSchema]:
        settings = self.settings

        def ask() -> Mapping[TableId, TableSchema]:
            with connected(settings.target) as connection:
                names = [table for table in mysql_server.table_names(connection) if settings.wants(table)]
                return mysql_server.table_schemas(connection, names)

        found = self._again(ask)
        if not found:
            raise RuntimeError(
                f"{settings.place} has no table in a database like {' or '.join(settings.databases)} whose name with "
                f"its database is like {' or '.join(settings.tables)}, or user '{settings.target.user}' must not see it"
            )
        return found

    def prepare(self, startup: StartupOptions, tables: Sequence[TableId], owner: str) -> Position:
        with self._server() as (server, connection):
            return binlog_reader.start_position(startup, server, connection, self._opener(server))

    def resume(self, position: Position, tables: Sequence[TableId], owner: str) -> None:
        self._found(position)

    def _found(self, position: Position) -> Position:
        with self._server() as (server, connection):
            return self._here(position, server, connection)

    def _here(self, position: Position, server: Server, connection: Connection) -> Position:
        """A position of another server's log as one of this server's.

        :raises PositionLost: the log does not have it.
        """
        if position.server in ("", server.name) or not position.gtids:
            binlog_reader.check_position(position, server, connection)
            return position
        logger.warning("%s at %s is another server than before: going on behind its GTIDs", server.title, server.place)
        found = binlog_reader.after_gtids(position.gtids, server, connection, self._opener(server), position.life + 1)
        # The transaction that was read in part is the first one there, too.
        return found._replace(event=position.event)

    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        def ask() -> Bounds:
            with connected(self.settings.target) as connection:
                return snapshot_chunks.column_bounds(connection, table, schema, column)

        return self._again(ask)

    def next_bound(
        self, table: TableId, schema: TableSchema, column: str, start: Any, greatest: Any, rows: int
    ) -> Any | None:
        def ask() -> Any | None:
            with connected(self.settings.target) as connection:
                return snapshot_chunks.next_bound(connection, table, column, start, greatest, rows)

        return self._again(ask)

    # -- in the tasks -------------------------------------------------------------------------------------------

    def read_chunk(self, chunk: Chunk, schema: TableSchema) -> ChunkRows:
        return self._again(lambda: self._read_chunk(chunk))

    def _read_chunk(self, chunk: Chunk) -> ChunkRows:
        with self._server() as (server, connection):

            def open_log(position: Position, relation: Relation) -> MySqlLogReader:
                return self._reader(server, position, [relation], self.settings.other_id)

            def located(relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]) -> list[int]:
                return _located(connection, relation, column, bounds, values)

            return ChunkReader(server, connection, open_log, located).read(chunk)

    def open_log(self, position: Position, relations: Sequence[Relation], owner: str) -> LogReader:
        def ask() -> LogReader:
            with self._server() as (server, _):
                return self._reader(server, position, relations, self.settings.log_id)

        return self._again(ask)

    def _reader(
        self, server: Server, position: Position, relations: Sequence[Relation], server_id: int
    ) -> MySqlLogReader:
        def files() -> list[str]:
            with connected(self.settings.target) as connection:
                return [name for name, _ in server.files(connection)]

        prepared = PreparedReader(self._opener(server), files)
        wire = Wire(
            server,
            self._found,
            lambda begin: self._stream(server, begin, server_id),
            prepared,
            self.settings.retries,
            self.settings.target.timeout,
        )
        followed = TrackedTables(relations, self._words(server), self._is_wanted())
        return MySqlLogReader(wire, position, followed)

    def _is_wanted(self) -> Callable[[TableId], bool]:
        return self.settings.wants if self.settings.new_tables else lambda table: False

    def _words(self, server: Server) -> ServerQuestions:
        @cache
        def collations() -> dict[int, str]:
            with connected(self.settings.target) as connection:
                return server.collations(connection)

        @cache
        def charsets(table: TableId) -> dict[str, str | None]:
            with connected(self.settings.target) as connection:
                return mysql_server.text_charsets(connection, table)

        def schema(table: TableId) -> TableSchema | None:
            charsets.cache_clear()
            with connected(self.settings.target) as connection:
                return mysql_server.table_schemas(connection, [table]).get(table)

        return ServerQuestions(
            server.mariadb,
            lambda number: codec_of(collations(), number),
            lambda table, column: charsets(table).get(column),
            schema,
        )

    def locate(self, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]) -> list[int]:
        native = relation.schema.columns[relation.schema.names.index(column)].native
        if snapshot_chunks.is_ordered_here(native):
            return [0 if value is None else bisect_right(bounds, value) for value in values]
        with connected(self.settings.target) as connection:
            return _located(connection, relation, column, bounds, values)

    def keys(self, relation: Relation, column: str, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def column(self, values: Sequence[Any] | pa.Array, native: str, kind: DataType, where: str) -> pa.Array:
        return mysql_types.typed_column(list(values), native, kind, self.settings.time_zone, where)

    def source(self, change: Change) -> Mapping[str, Any]:
        mark = change.mark
        return {
            "position": f"{mark.file}:{mark.offset}",
            "file": mark.file,
            "pos": mark.offset,
            "gtid": mark.gtid or None,
            "server_id": mark.server_id,
            "row": 0,
        }

    # -- connections --------------------------------------------------------------------------------------------

    def _again(self, work: Callable[[], T]) -> T:
        """Not for what reads the log: that has a patience of its own."""
        return retry_query(work, _is_passing, self.settings.retries, self.settings.place)

    @contextmanager
    def _server(self) -> Any:
        with connected(self.settings.target) as connection:
            yield identify(connection, self.settings.target), connection

    def _opener(self, server: Server) -> Callable[[Begin], LogStream]:
        return lambda begin: self._stream(server, begin, self.settings.other_id)

    def _stream(self, server: Server, begin: Begin, server_id: int) -> LogStream:
        connection = connect(self.settings.target)
        try:
            return LogStream(connection, server.mariadb, server_id, begin, self.settings.heartbeat)
        except BaseException:
            connection.close()
            raise


def _is_passing(error: BaseException) -> bool:
    return error.passing if isinstance(error, ConnectionFailed) else MySqlDialect().is_passing(error)


def _located(
    connection: Connection, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]
) -> list[int]:
    """In which chunks values lie, as the server orders them."""
    native = relation.schema.columns[relation.schema.names.index(column)].native
    if snapshot_chunks.is_ordered_here(native):
        return [0 if value is None else bisect_right(bounds, value) for value in values]
    return snapshot_chunks.locate_values(
        connection, native, mysql_server.column_collation(connection, relation.table, column), bounds, values
    )
