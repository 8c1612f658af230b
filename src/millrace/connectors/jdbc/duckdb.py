"""DuckDB: a file that is read into Arrow columns and written from them. Dialect and catalog.

One process at a time may write to the file, so it is open only within a transaction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from millrace.connectors.jdbc.driver_values import (
    FETCH,
    FIRST_DAY,
    FIRST_MOMENT,
    LAST_DAY,
    LAST_MOMENT,
    YEARS,
    sql_constant,
)
from millrace.relational import types as t
from millrace.relational.precision import canonical
from millrace.relational.rows import record_batch
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import CharType, DataType, DecimalType
from millrace.relational.values import to_arrow, to_python

# The file

PAUSE = 0.02
"""seconds between two tries to open a file that another process has open"""


def duckdb_library() -> Any:
    """The module ``duckdb``. :raises ImportError: with the extra that brings it."""
    try:
        import duckdb
    except ImportError:
        raise ImportError("DuckDB needs its Python package: pip install 'millrace-streaming[duckdb]'") from None
    return duckdb


def is_locked(error: BaseException) -> bool:
    """Whether another process has the file open."""
    return "lock" in str(error) and "onflicting" in str(error)


def open_duckdb(path: str, seconds: float, read_only: bool = False) -> Any:
    """A connection of DuckDB's.

    :param seconds: how long another process may have the file.
    """
    duckdb = duckdb_library()
    until = time.monotonic() + seconds
    while True:
        try:
            try:
                found = duckdb.connect(path, read_only=read_only)
            except duckdb.ConnectionException:
                # This process has the file open for writing: it is the same database then.
                found = duckdb.connect(path)
        except duckdb.IOException as error:
            if not is_locked(error) or time.monotonic() > until:
                raise
            time.sleep(PAUSE)
            continue
        found.execute("SET TimeZone = 'UTC'")
        return found


class FileConnection:
    """A connection as PEP 249 describes it: a transaction begins with the first statement, and ends with ``commit`` or
    ``rollback``, which close the file."""

    def __init__(self, path: str, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._open: Any = None

    @property
    def raw(self) -> Any:
        """DuckDB's connection, in a transaction."""
        if self._open is None:
            found = open_duckdb(self._path, self._seconds)
            try:
                found.begin()
            except BaseException:
                found.close()
                raise
            self._open = found
        return self._open

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self._end("commit")

    def rollback(self) -> None:
        self._end("rollback")

    def _end(self, how: str) -> None:
        found, self._open = self._open, None
        if found is not None:
            try:
                getattr(found, how)()
            finally:
                found.close()

    def close(self) -> None:
        """Takes back what was not committed."""
        found, self._open = self._open, None
        if found is not None:
            found.close()


class Cursor:
    """Runs statements in the transaction of its connection. DuckDB's own cursors have transactions of their own."""

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection

    @property
    def description(self) -> Any:
        return self._connection.raw.description

    @property
    def rowcount(self) -> int:
        """How many rows the last statement has changed, which DuckDB gives as its result; -1: that is not known."""
        found = self.fetchall()
        return int(found[0][0]) if len(found) == 1 and isinstance(found[0][0], int) else -1

    def execute(self, statement: str, values: Any = ()) -> None:
        self._connection.raw.execute(statement, list(values))

    def executemany(self, statement: str, rows: Any) -> None:
        made = [list(row) for row in rows]
        if made:
            self._connection.raw.executemany(statement, made)

    def fetchall(self) -> list[Any]:
        found: list[Any] = self._connection.raw.fetchall()
        return found

    def close(self) -> None:
        """Does nothing: a cursor holds no resources."""


# The dialect

_FAR = re.compile(r"^\d{5,}-|\(BC\)")
"""times that the driver leaves texts"""
_ROWS, _AT = "millrace rows", '"millrace at"'
_PUSHED = (Family.INTEGER, Family.TEXT, Family.DATE, Family.DECIMAL)


class DuckDbDialect(Dialect):
    title = "DuckDB"
    style = "qmark"
    families = frozenset(
        {
            Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
            Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
        }
    )  # fmt: skip

    aggregated = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP})
    grouped = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.BOOLEAN, Family.TEXT})

    def open(self, target: Target) -> Any:
        _check(target)
        with closing(open_duckdb(target.database, target.timeout)):  # what is wrong with the file shows here
            return FileConnection(target.database, target.timeout)

    def is_passing(self, error: BaseException) -> bool:
        return is_locked(error) or isinstance(error, duckdb_library().TransactionException)

    def literal(self, value: Any, kind: DataType) -> str | None:
        if family_of(kind) not in _PUSHED:
            return None
        return sql_constant(value, kind, lambda text: "'" + text.replace("'", "''") + "'")

    # -- reading ------------------------------------------------------------------------------------------------

    def selected(self, name: str, kind: DataType) -> str:
        if family_of(kind) is Family.TEXT:
            return f"CAST({self.name(name)} AS VARCHAR)"
        if family_of(kind) is Family.INSTANT:
            return f"CAST({self.name(name)} AS TIMESTAMPTZ)"
        return self.name(name)

    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        _check(target)
        with closing(open_duckdb(target.database, target.timeout, read_only=True)) as connection:
            for batch in connection.sql(query).to_arrow_reader(fetch or FETCH):
                yield record_batch([_read(*each) for each in zip(batch.columns, kinds)], batch.num_rows)

    def find(
        self,
        connection: Any,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]] | None:
        labels = [f"millrace k{number}" for number in range(len(keys))]
        asked = pa.table([*values, pa.array(range(len(values[0])))], [*labels, "millrace at"])
        equal = " AND ".join(
            # What is read is filled up with blanks; the file has it as it was written.
            f"rtrim({self.name(name)}, ' ') = rtrim({self.name(label)}, ' ')"
            if isinstance(kind, CharType)
            else f"{self.name(name)} = {self.name(label)}"
            for (name, kind), label in zip(keys, labels)
        )
        query = f"SELECT {_AT}, {wanted} FROM {table} JOIN {self.name(_ROWS)} ON {equal}"
        with _registered(connection, asked):
            return [(row[0], tuple(row[1:])) for row in connection.raw.execute(query).fetchall()]

    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        columns = zip(*rows) if rows else [()] * len(kinds)
        return [to_python(_read(_column(column), kind), kind) for column, kind in zip(columns, kinds)]

    # -- writing ------------------------------------------------------------------------------------------------

    def append(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, "")

    def upsert(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, self._names(shape).conflict_clause())

    def delete(self, connection: Any, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]) -> None:
        table, rows = self.table(shape.table), self.name(_ROWS)
        equal = " AND ".join(f"{table}.{self.name(key)} = {rows}.{self.name(key)}" for key in shape.keys)
        with _registered(connection, pa.table(list(keys), list(shape.keys))):
            connection.raw.execute(f"DELETE FROM {table} USING {rows} WHERE {equal}")

    def _insert(self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], clause: str) -> None:
        names = ", ".join(map(self.name, shape.columns))
        with _registered(connection, pa.table(list(columns), list(shape.columns))):
            connection.raw.execute(
                f"INSERT INTO {self.table(shape.table)} ({names}) SELECT {names} FROM {self.name(_ROWS)} {clause}"
            )

    def _names(self, shape: TableShape) -> UpsertNames:
        return UpsertNames(self.table(shape.table), [*map(self.name, shape.columns)], [*map(self.name, shape.keys)])


class _registered:
    """Rows as a table of a query."""

    def __init__(self, connection: FileConnection, rows: pa.Table) -> None:
        self._raw = connection.raw
        self._rows = rows

    def __enter__(self) -> None:
        self._raw.register(_ROWS, self._rows)

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if kind is None:  # else the transaction is over, and the file is closed soon
            self._raw.unregister(_ROWS)


def _check(target: Target) -> None:
    if target.properties:
        raise ValueError(f"DuckDB has no property '{next(iter(target.properties))}' here")
    if target.database in ("", ":memory:"):
        raise ValueError("a database in memory is seen by no other process: name a file")


def _column(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:  # UBIGINT and HUGEINT
        return pa.array([None if value is None else Decimal(value) for value in values])


def _read(column: pa.Array, kind: DataType) -> pa.Array:
    """A column of a query in the form that plans have for its type.

    :raises ValueError: a value does not fit.
    """
    wanted = arrow_type(kind)
    try:
        if isinstance(kind, DecimalType) and pa.types.is_floating(column.type):
            return to_arrow([None if value is None else _decimal(value) for value in column.to_pylist()], kind)
        if isinstance(kind, DecimalType) and pa.types.is_decimal(column.type):
            # Digits after the point that are too many are rounded, as they are of all databases.
            column = pc.round(column, min(kind.scale, column.type.scale), "half_towards_infinity")
        if pa.types.is_temporal(wanted) != pa.types.is_temporal(column.type) and not _says_it(column.type):
            raise pa.ArrowInvalid("one of them is a time")
        made = _finite(column, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if pa.types.is_temporal(wanted) and pa.types.is_string(column.type):
            far = next((value for value in column.to_pylist() if value and _FAR.search(value)), None)
            if far is not None:
                raise ValueError(f"it has {far!r}, which is no {kind} here{YEARS}") from None
        raise ValueError(f"it has {column.type}, which cannot be read as {kind}: {error}") from None
    if isinstance(kind, CharType):
        return pc.utf8_rpad(made, kind.length)
    return canonical(made, kind)


def _finite(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column in a type; infinite times as the first and the last one that Python has."""
    if not (pa.types.is_timestamp(column.type) or column.type == pa.date32()):
        return column if column.type == wanted else pc.cast(column, wanted)
    numbers = column.view(pa.int32() if column.type == pa.date32() else pa.int64())
    last = np.iinfo(numbers.type.to_pandas_dtype()).max
    is_last, is_first = (pc.fill_null(pc.equal(numbers, each), False) for each in (last, -last))
    made = pc.cast(pc.if_else(pc.or_(is_last, is_first), None, column), wanted)
    is_date = pa.types.is_date(wanted)
    ends = [pa.scalar(each, wanted) for each in ((LAST_DAY, FIRST_DAY) if is_date else (LAST_MOMENT, FIRST_MOMENT))]
    return pc.case_when(pc.make_struct(is_last, is_first), *ends, made)


def _says_it(kind: pa.DataType) -> bool:
    """Whether values are texts, or all NULL."""
    return bool(pa.types.is_string(kind) or pa.types.is_null(kind))


def _decimal(value: float) -> Any:

    return Decimal(repr(value))


# The catalog

_MAIN = "main"
_TYPES: Mapping[str, DataType] = {
    "boolean": t.BooleanType(),
    "tinyint": t.TinyIntType(),
    "utinyint": t.SmallIntType(),
    "smallint": t.SmallIntType(),
    "usmallint": t.IntType(),
    "integer": t.IntType(),
    "uinteger": t.BigIntType(),
    "bigint": t.BigIntType(),
    "ubigint": t.DecimalType(20, 0),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "blob": t.VarBinaryType(t.MAX_LENGTH),
    "date": t.DateType(),
    "time": t.TimeType(6),
    "timestamp": t.TimestampType(6),
    "timestamp_s": t.TimestampType(0),
    "timestamp_ms": t.TimestampType(3),
    "timestamp with time zone": t.LocalZonedTimestampType(6),
}


def duckdb_type(native: str) -> DataType:
    """What a type is read and written as; all that is not known (uuid, json, enums, structs, ...) as text."""
    if native.endswith("[]"):
        return t.ArrayType(duckdb_type(native[:-2]))
    name, numbers = sized_type(native)
    if name == "decimal" and len(numbers) == 2:
        return t.DecimalType(numbers[0], numbers[1])
    return _TYPES.get(name, t.string())


class DuckDbMetadata(Metadata):
    """Tables outside of the schema ``main`` are ``schema.table``."""

    def databases(self, connection: Connection) -> list[str]:
        return [name for (name,) in query_rows(connection, "SELECT current_database()")]

    def tables(self, connection: Connection) -> list[str]:
        query = (
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            "ORDER BY 1, 2"
        )
        return [name if schema == _MAIN else f"{schema}.{name}" for schema, name in query_rows(connection, query)]

    def columns(self, connection: Connection, table: str) -> list[ColumnFound]:
        query = (
            "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_catalog = current_database() AND table_schema = ? AND table_name = ? ORDER BY ordinal_position"
        )
        return [
            ColumnFound(name, native, duckdb_type(native) if nullable == "YES" else duckdb_type(native).not_null())
            for name, native, nullable in query_rows(connection, query, *_parts(table))
        ]

    def key(self, connection: Connection, table: str) -> KeyFound | None:
        query = (
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY' "
            "AND database_name = current_database() AND schema_name = ? AND table_name = ?"
        )
        found = query_rows(connection, query, *_parts(table))
        return KeyFound("PRIMARY", tuple(found[0][0])) if found else None

    def rows(self, connection: Connection, table: str) -> int | None:
        query = "SELECT estimated_size FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?"
        found = query_rows(connection, query, *_parts(table))
        return int(found[0][0]) if found else None

    def create_database(self, name: str) -> str:
        raise ValueError("a file of DuckDB is one database")

    def drop_database(self, name: str) -> str:
        raise ValueError("a file of DuckDB is one database")


def _parts(table: str) -> tuple[str, str]:
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (_MAIN, table)
