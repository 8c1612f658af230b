"""``MySqlDatabase``: MySQL or MariaDB as what is captured."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import pyarrow as pa

from millrace.connectors.cdc.again import again
from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.chunks import Bounds, Chunk
from millrace.connectors.cdc.database import CdcDatabase, LogReader
from millrace.connectors.cdc.mysql import beginning, catalog, chunking, typed
from millrace.connectors.cdc.mysql.following import Followed, Words
from millrace.connectors.cdc.mysql.log.stream import Begin, LogConnectionLost, LogRefused, LogStream
from millrace.connectors.cdc.mysql.position import Position
from millrace.connectors.cdc.mysql.prepared import PreparedReader
from millrace.connectors.cdc.mysql.reader import MySqlLogReader, Wire
from millrace.connectors.cdc.mysql.server import Server, codec_of, connect, connected, identify
from millrace.connectors.cdc.mysql.settings import MySqlSettings
from millrace.connectors.cdc.mysql.snapshots import ChunkReader
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.startup import StartupOptions
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.stores.problems import ConnectionFailed
from millrace.relational.types import DataType

__all__ = ["MySqlDatabase"]

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
                names = [table for table in catalog.table_names(connection) if settings.wants(table)]
                return catalog.schemas(connection, names)

        found = self._again(ask)
        if not found:
            raise RuntimeError(
                f"{settings.place} has no table in a database like {' or '.join(settings.databases)} whose name with "
                f"its database is like {' or '.join(settings.tables)}, or user '{settings.target.user}' must not see it"
            )
        return found

    def prepare(self, startup: StartupOptions, tables: Sequence[TableId], owner: str) -> Position:
        with self._server() as (server, connection):
            return beginning.begin(startup, server, connection, self._opener(server))

    def resume(self, position: Position, tables: Sequence[TableId], owner: str) -> None:
        self._found(position)

    def _found(self, position: Position) -> Position:
        with self._server() as (server, connection):
            return self._here(position, server, connection)

    def _here(self, position: Position, server: Server, connection: Any) -> Position:
        """A position of another server's log as one of this server's.

        :raises PositionLost: the log does not have it.
        """
        if position.server in ("", server.name) or not position.gtids:
            beginning.check(position, server, connection)
            return position
        logger.warning("%s at %s is another server than before: going on behind its GTIDs", server.title, server.place)
        found = beginning.after_gtids(position.gtids, server, connection, self._opener(server), position.life + 1)
        # The transaction that was read in part is the first one there, too.
        return found._replace(event=position.event)

    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        def ask() -> Bounds:
            with connected(self.settings.target) as connection:
                return chunking.bounds(connection, table, schema, column)

        return self._again(ask)

    def next_bound(
        self, table: TableId, schema: TableSchema, column: str, start: Any, greatest: Any, rows: int
    ) -> Any | None:
        def ask() -> Any | None:
            with connected(self.settings.target) as connection:
                return chunking.next_bound(connection, table, column, start, greatest, rows)

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
        followed = Followed(relations, self._words(server), self._is_wanted())
        return MySqlLogReader(wire, position, followed)

    def _is_wanted(self) -> Callable[[TableId], bool]:
        return self.settings.wants if self.settings.new_tables else lambda table: False

    def _words(self, server: Server) -> Words:
        @cache
        def collations() -> dict[int, str]:
            with connected(self.settings.target) as connection:
                return server.collations(connection)

        @cache
        def charsets(table: TableId) -> dict[str, str | None]:
            with connected(self.settings.target) as connection:
                return catalog.text_charsets(connection, table)

        def schema(table: TableId) -> TableSchema | None:
            charsets.cache_clear()
            with connected(self.settings.target) as connection:
                return catalog.schemas(connection, [table]).get(table)

        return Words(
            server.mariadb,
            lambda number: codec_of(collations(), number),
            lambda table, column: charsets(table).get(column),
            schema,
        )

    def locate(self, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]) -> list[int]:
        native = relation.schema.columns[relation.schema.names.index(column)].native
        if chunking.is_ordered_here(native):
            return [0 if value is None else bisect_right(bounds, value) for value in values]
        with connected(self.settings.target) as connection:
            return _located(connection, relation, column, bounds, values)

    def keys(self, relation: Relation, column: str, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def column(self, values: Sequence[Any] | pa.Array, native: str, kind: DataType, where: str) -> pa.Array:
        return typed.column(list(values), native, kind, self.settings.time_zone, where)

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
        return again(work, _is_passing, self.settings.retries, self.settings.place)

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
    connection: Any, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]
) -> list[int]:
    """In which chunks values lie, as the server orders them."""
    native = relation.schema.columns[relation.schema.names.index(column)].native
    if chunking.is_ordered_here(native):
        return [0 if value is None else bisect_right(bounds, value) for value in values]
    return chunking.locate(connection, native, catalog.collation(connection, relation.table, column), bounds, values)
