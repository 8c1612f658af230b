"""SQLite, with the driver that Python brings along: dialect and catalog.

Its columns take values of any type; the declared type counts.
"""

from __future__ import annotations

import datetime as dt
import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millrace.connectors.dbapi import Connection, UpsertNames
from millrace.connectors.jdbc.dialect import (
    ColumnFound,
    Dialect,
    KeyFound,
    Metadata,
    TableShape,
    Target,
    query_rows,
    sized_type,
)
from millrace.connectors.jdbc.driver_values import columns_of, fetched, rows_by_key, sql_constant
from millrace.relational import types as t
from millrace.relational.precision import EXACT
from millrace.relational.type_table import ByFamily, Family, conversion, family_of
from millrace.relational.types import CharType, DataType
from millrace.relational.values import to_python

Row = tuple[Any, ...]
"""a row, or the key of one, in the form that SQLite has"""
_MOST_PARAMETERS = 30_000
"""parameters of one statement; SQLite takes 32,766"""


class SqliteDialect(Dialect):
    title = "SQLite"
    style = "qmark"
    families = frozenset(
        {
            Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
            Family.TIME, Family.TIMESTAMP, Family.INSTANT,
        }
    )  # fmt: skip

    aggregated = grouped = frozenset({Family.INTEGER})
    sums_any = checks_types = False

    def compared(self, name: str, kind: DataType) -> str:
        # Any column may have values of any type: abs() of the least number is an error.
        read = self.name(name)
        return f"CASE WHEN typeof({read}) IN ('integer', 'null') THEN {read} ELSE abs(-9223372036854775807 - 1) END"

    def open(self, target: Target) -> Any:
        if target.properties:
            raise ValueError(f"SQLite has no property '{next(iter(target.properties))}' here")
        if target.database in ("", ":memory:"):
            raise ValueError("a database in memory is seen by no other process: name a file")
        # A task may go on with another thread; it never uses two at a time.
        return sqlite3.connect(target.database, timeout=target.timeout, check_same_thread=False)

    def is_passing(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))

    def literal(self, value: Any, kind: DataType) -> str | None:
        # Times are texts there, in any form.
        if family_of(kind) not in (Family.INTEGER, Family.TEXT):
            return None
        return sql_constant(value, kind, lambda text: "'" + text.replace("'", "''") + "'")

    def parameter(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            return format(value, "f")
        if isinstance(value, dt.datetime):
            return value.isoformat(sep=" ")
        return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value

    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        with closing(self.connect(target)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query)
            yield from fetched(cursor, kinds, fetch)

    def find(
        self,
        connection: Connection,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, Row]] | None:
        names, kinds = [name for name, _ in keys], [kind for _, kind in keys]
        asked = [way for ways in self._spelled(values, kinds) for way in ways]
        found = self._having(connection, table, names, asked, f"{wanted}, ")
        return rows_by_key(found, keys, values)

    def columns_of(self, rows: Sequence[Row], kinds: Sequence[DataType]) -> list[list[Any]]:
        return columns_of(rows, kinds)

    def append(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._many(connection, self._names(shape).insert("?" * len(columns)), columns, kinds)

    def upsert(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        places = shape.key_places
        keys, key_kinds = [columns[place] for place in places], [kinds[place] for place in places]
        stored = self._stored(connection, shape, keys, key_kinds)
        rows = self._rows(columns, kinds)
        for number, row in enumerate(rows) if stored else ():
            key = tuple(row[place] for place in places)
            known = dict(zip(places, stored.get(key, key)))
            rows[number] = tuple(known.get(place, value) for place, value in enumerate(row))
        with closing(connection.cursor()) as cursor:
            cursor.executemany(self._names(shape).on_conflict("?" * len(columns)), rows)

    def delete(
        self, connection: Connection, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        asked = [way for ways in self._spelled(keys, kinds) for way in ways]
        with closing(connection.cursor()) as cursor:
            cursor.executemany(self._names(shape).delete("?" * len(keys)), asked)

    def _stored(
        self, connection: Connection, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> dict[Row, Row]:
        """key as we write it -> the same key as its row has it, where that differs"""
        spelled = self._spelled(keys, kinds)
        if all(len(ways) == 1 for ways in spelled):
            return {}
        asked = [way for ways in spelled for way in ways]
        rows = self._having(connection, self.table(shape.table), shape.keys, asked)
        written = dict(zip(zip(*map(to_python, keys, kinds)), self._rows(keys, kinds)))
        found = {written[key]: row for key, row in zip(zip(*columns_of(rows, kinds)), rows) if key in written}
        same = {tuple(row) for row in rows}
        return {key: tuple(row) for key, row in found.items() if key not in same}

    def _spelled(self, keys: Sequence[pa.Array], kinds: Sequence[DataType]) -> list[list[Row]]:
        """Of each key all ways in which its row may have it, the first one as we write it."""
        others = [conversion(kind, _SPELLINGS) for kind in kinds]
        found = []
        for plain, written in zip(zip(*map(to_python, keys, kinds)), self._rows(keys, kinds)):
            ways = [[each, *({*(more(value) or ())} - {each})] for value, each, more in zip(plain, written, others)]
            found.append(list(itertools.product(*ways)))
        return found

    def _having(
        self, connection: Connection, table: str, names: Sequence[str], asked: Sequence[Row], more: str = ""
    ) -> list[Row]:
        """The key columns of the rows that have one of these keys, exactly as written.

        :param more: columns that are selected before them.
        """
        found: list[Row] = []
        key = ", ".join(map(self.name, names))
        step = _MOST_PARAMETERS // len(names)
        with closing(connection.cursor()) as cursor:
            for begin in range(0, len(asked), step):
                some = asked[begin : begin + step]
                marks = ", ".join([f"({', '.join('?' * len(names))})"] * len(some))
                query = f"SELECT {more}{key} FROM {table} WHERE ({key}) IN (VALUES {marks})"
                cursor.execute(query, [value for row in some for value in row])
                found += cursor.fetchall()
        return found

    def _names(self, shape: TableShape) -> UpsertNames:
        return UpsertNames(self.table(shape.table), [*map(self.name, shape.columns)], [*map(self.name, shape.keys)])

    def _many(
        self, connection: Connection, statement: str, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.executemany(statement, self._rows(columns, kinds))

    def _rows(self, columns: Sequence[pa.Array], kinds: Sequence[DataType]) -> list[Row]:
        made = []
        for column, kind in zip(columns, kinds):
            convert = conversion(kind, _TO_DRIVER)
            made.append([convert(value) for value in to_python(column, kind)])
        return list(zip(*made))


def _decimal_spellings(value: Decimal) -> set[str]:
    return {format(value.normalize(EXACT), "f")}


def _clock_spellings(value: dt.time) -> set[str]:
    """With as many digits as others may have written."""
    text = value.isoformat("microseconds")
    found = {text, text.rstrip("0").rstrip(".")}
    if not value.microsecond % 1000:
        found.add(value.isoformat("milliseconds"))
    if not value.microsecond:
        found.add(value.isoformat("seconds"))
    if not value.microsecond and not value.second:
        found.add(value.isoformat("minutes"))
    return found


def _moment_spellings(value: dt.datetime) -> set[str]:
    ends = [""]
    if value.tzinfo is not None:
        value, ends = value.astimezone(dt.timezone.utc), ["", "Z", "+00:00"]
    day, clocks = value.date().isoformat(), _clock_spellings(value.time())
    return {f"{day}{between}{clock}{end}" for between in " T" for clock in clocks for end in ends}


_SPELLINGS: ByFamily = {
    **dict.fromkeys(
        (Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.BYTES, Family.DATE), lambda kind: lambda value: ()
    ),
    Family.TEXT: lambda kind: lambda value: {value.rstrip(" ")} if isinstance(kind, CharType) else (),
    Family.DECIMAL: lambda kind: _decimal_spellings,
    Family.TIME: lambda kind: _clock_spellings,
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), lambda kind: _moment_spellings),
}
"""how else a value of a key may be written in a column, which may have texts of any form"""
_TO_DRIVER: ByFamily = {
    Family.BOOLEAN: lambda kind: int,
    Family.DECIMAL: lambda kind: lambda value: format(value, "f"),
    Family.DATE: lambda kind: dt.date.isoformat,
    Family.TIME: lambda kind: dt.time.isoformat,
    Family.TIMESTAMP: lambda kind: lambda value: value.isoformat(sep=" "),
    Family.INSTANT: lambda kind: lambda value: value.astimezone(dt.timezone.utc).isoformat(sep=" "),
}


_MOST_DIGITS = 38


def sqlite_type(native: str) -> DataType:
    """What a column is read and written as, by the words in its type that SQLite goes by, too."""
    name, numbers = sized_type(native)
    if "bool" in name:
        return t.BooleanType()
    if "int" in name:
        return t.BigIntType()
    if any(word in name for word in ("char", "clob", "text")) or not name:
        return t.string()
    if "blob" in name or "binary" in name or name == "bytes":
        return t.VarBinaryType(t.MAX_LENGTH)
    if any(word in name for word in ("real", "floa", "doub")):
        return t.DoubleType()
    if name in ("decimal", "numeric"):
        precision, scale = (*numbers, 0)[:2] if numbers else (_MOST_DIGITS, 18)
        return t.DecimalType(precision, scale) if precision <= _MOST_DIGITS else t.string()
    if name in ("datetime", "timestamp"):
        return t.TimestampType(6)
    return {"date": t.DateType(), "time": t.TimeType(6)}.get(name, t.string())


class SqliteMetadata(Metadata):
    def databases(self, connection: Connection) -> list[str]:
        return ["main"]

    def tables(self, connection: Connection) -> list[str]:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        return [name for (name,) in query_rows(connection, query)]

    def columns(self, connection: Connection, table: str) -> list[ColumnFound]:
        found = query_rows(connection, 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid', table)
        return [
            ColumnFound(name, native, sqlite_type(native).not_null() if required or key else sqlite_type(native))
            for name, native, required, key in found
        ]

    def key(self, connection: Connection, table: str) -> KeyFound | None:
        found = query_rows(connection, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table)
        return KeyFound("PRIMARY", tuple(name for (name,) in found)) if found else None

    def rows(self, connection: Connection, table: str) -> int | None:
        if not query_rows(connection, "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'"):
            return None  # ANALYZE has never run
        found = query_rows(connection, "SELECT stat FROM sqlite_stat1 WHERE tbl = ? AND stat IS NOT NULL", table)
        return max((int(stat.split()[0]) for (stat,) in found), default=None)

    def create_database(self, name: str) -> str:
        raise ValueError("a file of SQLite is one database")

    def drop_database(self, name: str) -> str:
        raise ValueError("a file of SQLite is one database")
