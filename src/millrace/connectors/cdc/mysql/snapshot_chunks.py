"""Chunks of a table of MySQL or MariaDB: their bounds, their rows, and the position of the log that these rows reflect.

``ChunkReader`` notes the position of the log before and after its SELECT where the server has no exact one, and merges
the changes between the two into the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.changes import Bounds, Change, Chunk, ChunkRows, Relation, UpTo, backfilled
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.cdc.mysql import mysql_server
from millrace.connectors.cdc.mysql.binlog_position import Position
from millrace.connectors.cdc.mysql.binlog_reader import MySqlLogReader
from millrace.connectors.cdc.mysql.mysql_server import Server
from millrace.connectors.cdc.mysql.mysql_types import base_type
from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.dialect import query_rows
from millrace.connectors.jdbc.mysql import pymysql

_PLAIN = frozenset(
    ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "datetime", "timestamp", "year")
)
_TEXTS = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "uuid", "inet4", "inet6"))
_AT_ONCE = 500
"""comparisons of one statement"""


def quoted_column(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def quoted_table(table: TableId) -> str:
    return f"{quoted_column(table.schema)}.{quoted_column(table.table)}"


def is_ordered_here(native: str) -> bool:
    """Whether Python orders values as the server does."""
    return base_type(native) in _PLAIN or base_type(native) in ("binary", "varbinary")


def can_be_cut(native: str) -> bool:
    """Whether a table can be cut by ranges of a column of this type. It cannot by an ENUM, which compares as text
    but sorts as a number."""
    return is_ordered_here(native) or base_type(native) in _TEXTS


def column_bounds(connection: Connection, table: TableId, schema: TableSchema, column: str) -> Bounds:
    """The minimum and maximum of a column, and the estimated number of rows; None for both if the table has to be
    one chunk."""
    rows = query_rows(
        connection,
        "SELECT table_rows FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        table.schema,
        table.table,
    )
    number = int(rows[0][0] or 0) if rows else 0
    native = schema.columns[schema.names.index(column)].native
    if not can_be_cut(native):
        return Bounds(None, None, number)
    least, greatest = query_rows(
        connection, f"SELECT MIN({quoted_column(column)}), MAX({quoted_column(column)}) FROM {quoted_table(table)}"
    )[0]
    if is_ordered_here(native) and any(isinstance(each, str) for each in (least, greatest)):
        return Bounds(None, None, number)  # dates that are none
    return Bounds(least, greatest, number)


def next_bound(connection: Connection, table: TableId, column: str, start: Any, greatest: Any, rows: int) -> Any | None:
    """The value at which a chunk of about ``rows`` rows ends; None: the chunk reaches ``greatest``."""
    wanted, values = [f"{quoted_column(column)} <= %s"], [greatest]
    if start is not None:
        wanted.append(f"{quoted_column(column)} > %s")
        values.append(start)
    query = (
        f"SELECT {quoted_column(column)} FROM {quoted_table(table)} WHERE {' AND '.join(wanted)} "
        f"ORDER BY {quoted_column(column)} LIMIT 1 OFFSET {rows - 1 if start is not None else rows}"
    )
    found = query_rows(connection, query, *values)
    if not found:
        return None
    if start is None:
        # The first chunk would be empty if all of its rows have the value at which it ends.
        first = query_rows(
            connection, f"SELECT MIN({quoted_column(column)}) < %s FROM {quoted_table(table)}", found[0][0]
        )
        if not first[0][0]:
            return next_bound(connection, table, column, found[0][0], greatest, 1)
    return found[0][0]


def select_list(schema: TableSchema) -> str:
    """The columns of a table in a SELECT, so that values are as exact as in the log."""
    return ", ".join(
        # Servers write a FLOAT with six digits. Where 0 were added to it, -0.0 would lose its sign.
        f"({quoted_column(column.name)} * 1e0)" if base_type(column.native) == "float" else quoted_column(column.name)
        for column in schema.columns
    )


def rows_of(connection: Connection, chunk: Chunk, schema: TableSchema) -> list[tuple[Any, ...]]:
    """The rows of a chunk."""
    wanted, values = [], []
    if chunk.column is not None and chunk.start is not None:
        wanted.append(f"{quoted_column(chunk.column)} >= %s")
        values.append(chunk.start)
    if chunk.column is not None and chunk.end is not None:
        below = f"{quoted_column(chunk.column)} < %s"
        wanted.append(below if chunk.start is not None else f"({below} OR {quoted_column(chunk.column)} IS NULL)")
        values.append(chunk.end)
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return query_rows(connection, f"SELECT {select_list(schema)} FROM {quoted_table(chunk.table)}{where}", *values)


def locate_values(
    connection: Connection, native: str, collation: str | None, bounds: Sequence[Any], values: Sequence[Any]
) -> list[int]:
    """How many bounds are at most each value, as the server compares them: by halving, all values at a time."""
    form = f"CAST(%s AS {base_type(native)})" if collation is None else f"CONVERT(%s USING utf8mb4) COLLATE {collation}"
    if collation is not None and not collation.startswith("utf8mb4"):
        form = f"CONVERT(%s USING {collation.partition('_')[0]}) COLLATE {collation}"
    known = sorted({value for value in values if value is not None})
    low, high = [0] * len(known), [len(bounds)] * len(known)
    while open_ones := [place for place in range(len(known)) if low[place] < high[place]]:
        asked_for = [(place, (low[place] + high[place]) // 2) for place in open_ones]
        for begin in range(0, len(asked_for), _AT_ONCE):
            some = asked_for[begin : begin + _AT_ONCE]
            query = "SELECT " + ", ".join([f"{form} >= {form}"] * len(some))
            pairs = [each for place, middle in some for each in (known[place], bounds[middle])]
            for (place, middle), is_behind in zip(some, query_rows(connection, query, *pairs)[0]):
                if is_behind:
                    low[place] = middle + 1
                else:
                    high[place] = middle
    found = dict(zip(known, low))
    return [0 if value is None else found[value] for value in values]


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
        schema = mysql_server.table_schemas(self.connection, [chunk.table]).get(chunk.table)
        if schema is None:
            raise LookupError(f"table {chunk.table} is gone: it was dropped or renamed while it was read")
        relation = Relation(chunk.table, schema)
        engine = mysql_server.storage_engines(self.connection, [chunk.table]).get(chunk.table, "")
        if self.server.mariadb and engine.lower() == "innodb":
            high = self.server.snapshot(self.connection)
            rows = rows_of(self.connection, chunk, schema)
            self.connection.commit()
        else:
            rows, high = self._between(chunk, relation)
        columns = list(zip(*rows)) if rows else [()] * len(schema.columns)
        return ChunkRows(relation, columns, len(rows), UpTo(high))

    def _between(self, chunk: Chunk, relation: Relation) -> tuple[list[Row], Position]:
        """The rows as they are at a place of the log, from servers that only say where it is before and after."""
        for _ in range(_TRIES):
            low = self.server.position(self.connection)
            rows = rows_of(self.connection, chunk, relation.schema)
            high = self.server.position(self.connection)
            changes = [] if low[:3] == high[:3] else self._changes(relation, low, high)
            if not changes:
                return rows, high
            if relation.schema.primary_key:
                inside = self._inside(chunk, relation, changes)
                return backfilled(rows, changes, _key(relation.schema), inside), high
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
