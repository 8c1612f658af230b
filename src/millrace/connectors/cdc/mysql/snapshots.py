"""``ChunkReader``: the rows of a chunk, and up to where the log is in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.backfill import merged
from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.chunks import Chunk
from millrace.connectors.cdc.mysql import catalog, chunking
from millrace.connectors.cdc.mysql.position import Position
from millrace.connectors.cdc.mysql.reader import MySqlLogReader
from millrace.connectors.cdc.mysql.server import Server
from millrace.connectors.cdc.schema import TableSchema
from millrace.connectors.cdc.seen import UpTo
from millrace.connectors.jdbc.dialects.mysql import pymysql

Row = tuple[Any, ...]
Locate = Callable[[Relation, str, Sequence[Any], Sequence[Any]], list[int]]
_CHANGED = (1054, 1412)
"""no such column; the table was changed since the snapshot"""
_TRIES = 5
_SECONDS = 300.0


@dataclass(frozen=True)
class ChunkReader:
    """:ivar open_log: for one table, behind a position. :ivar locate: as of ``CdcDatabase``."""

    server: Server
    connection: Any
    open_log: Callable[[Position, Relation], MySqlLogReader]
    locate: Locate

    def read(self, chunk: Chunk) -> ChunkRows:
        """:raises LookupError: the table is gone."""
        for last in reversed(range(_TRIES)):
            try:
                return self._read(chunk)
            except pymysql().err.MySQLError as error:
                self.connection.rollback()
                if last == 0 or not error.args or error.args[0] not in _CHANGED:
                    raise
        raise AssertionError("the last try gives its result or its error")

    def _read(self, chunk: Chunk) -> ChunkRows:
        schema = catalog.schemas(self.connection, [chunk.table]).get(chunk.table)
        if schema is None:
            raise LookupError(f"table {chunk.table} is gone: it was dropped or renamed while it was read")
        relation = Relation(chunk.table, schema)
        engine = catalog.engines(self.connection, [chunk.table]).get(chunk.table, "")
        if self.server.mariadb and engine.lower() == "innodb":
            high = self.server.snapshot(self.connection)
            rows = chunking.rows_of(self.connection, chunk, schema)
            self.connection.commit()
        else:
            rows, high = self._between(chunk, relation)
        columns = list(zip(*rows)) if rows else [()] * len(schema.columns)
        return ChunkRows(relation, columns, len(rows), UpTo(high))

    def _between(self, chunk: Chunk, relation: Relation) -> tuple[list[Row], Position]:
        """The rows as they are at a place of the log, from servers that only say where it is before and after."""
        for _ in range(_TRIES):
            low = self.server.position(self.connection)
            rows = chunking.rows_of(self.connection, chunk, relation.schema)
            high = self.server.position(self.connection)
            changes = [] if low[:3] == high[:3] else self._changes(relation, low, high)
            if not changes:
                return rows, high
            if relation.schema.primary_key:
                inside = self._inside(chunk, relation, changes)
                return merged(rows, changes, _key(relation.schema), inside), high
        raise RuntimeError(
            f"table {chunk.table} has no primary key, and changes all the time: its rows cannot be told apart while "
            f"they are read. Give it a primary key, or begin when it is quiet"
        )

    def _changes(self, relation: Relation, low: Position, high: Position) -> list[Change]:
        """What the log has between two positions."""
        reader = self.open_log(low, relation)
        found: list[Change] = []
        until = time.monotonic() + _SECONDS
        try:
            while reader.position < high:
                part = reader.read(1.0)
                for event in part.events if part is not None else ():
                    if not isinstance(event, Change):
                        raise pymysql().err.OperationalError(_CHANGED[1], "the table is being changed")
                    if event.mark < high:
                        found.append(event)
                if time.monotonic() > until:
                    raise TimeoutError(f"the log between {low} and {high} did not come within {_SECONDS:g} s")
        finally:
            reader.close()
        return found

    def _inside(self, chunk: Chunk, relation: Relation, changes: Sequence[Change]) -> Callable[[Row], bool]:
        """Whether a row is in the chunk; asked for all rows together."""
        if chunk.column is None or (chunk.start is None and chunk.end is None):
            return lambda row: True
        column = chunk.column
        place = relation.schema.names.index(column)
        values = list({row[place] for row in _images(changes)})
        bounds = [each for each in (chunk.start, chunk.end) if each is not None]
        wanted = 0 if chunk.start is None else 1
        numbers = dict(zip(values, self.locate(relation, column, bounds, values)))
        return lambda row: numbers[row[place]] == wanted


def _key(schema: TableSchema) -> Callable[[Row], Row]:
    places = schema.key_places
    return lambda row: tuple(row[place] for place in places)


def _images(changes: Sequence[Change]) -> Iterator[Row]:
    for change in changes:
        for image in (change.before, change.after):
            if image is not None:
                yield image
