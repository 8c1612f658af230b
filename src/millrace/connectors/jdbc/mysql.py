"""MySQL and MariaDB, through PyMySQL: dialect and catalog."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.dbapi import Connection, UpsertNames
from millrace.connectors.jdbc.dialect import (
    ColumnFacts,
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
    FIRST_DAY,
    FIRST_MOMENT,
    columns_of,
    fetched,
    row_literals,
    rows_by_key,
    sql_constant,
    sql_literals,
    text_pieces,
)
from millrace.relational import types as t
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

# The dialect

_MISSING = "pymysql can't be imported, which MySQL and MariaDB need: pip install 'millrace-streaming[mysql]' ({})"
_SESSION = "SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
"""Session settings: TIMESTAMP values are in UTC, and values that do not fit are errors instead of being cut."""
_PIECE = 1_000_000
"""bytes of one statement: below what servers allow"""
_PASSING = frozenset({1040, 1205, 1213, 2002, 2003, 2006, 2013, 2014, 2055})
"""error codes that may pass: too many connections, a lock, a deadlock, no connection"""
_GIVEN = {"connectTimeout": "connect_timeout", "socketTimeout": "read_timeout"}
"""property of Java's driver in milliseconds -> argument of PyMySQL in seconds"""
_ZERO = "zeroDateTimeBehavior"
_TLS = ("sslmode", "usessl", "requiressl")
_WITHOUT_EFFECT = frozenset(
    [
        "allowPublicKeyRetrieval",
        "autoReconnect",
        "cachePrepStmts",
        "characterEncoding",
        "connectionTimeZone",
        "rewriteBatchedStatements",
        "serverTimezone",
        "tinyInt1isBit",
        "useCursorFetch",
        "useLocalSessionState",
        "useServerPrepStmts",
        "useUnicode",
    ]
)
"""Properties of Java's drivers that have no effect here."""


class MySqlDialect(Dialect):
    title = "MySQL"
    mark = "`"
    text_is_exact = False
    families = frozenset(
        {
            Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
            Family.TIME, Family.TIMESTAMP, Family.INSTANT,
        }
    )  # fmt: skip

    aggregated = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP})
    grouped = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE})

    def open(self, target: Target) -> Any:
        arguments = self.arguments(target)
        # The driver waits without an end for the greeting of a server that took the connection.
        waiting = arguments.pop("read_timeout", None)
        connection = pymysql().connect(read_timeout=arguments["connect_timeout"], **arguments)
        connection._read_timeout = waiting
        return connection

    def arguments(self, target: Target) -> dict[str, Any]:
        """The arguments for PyMySQL's ``connect``.

        :raises ValueError: a property is unknown.
        """
        (host, port), *others = target.hosts
        if others:
            raise ValueError(f"{self.title} is found at one address here, not at {len(target.hosts)}")
        found: dict[str, Any] = {
            "host": host, "port": port, "user": target.user, "password": target.password or "",
            "database": target.database or None, "charset": "utf8mb4", "init_command": _SESSION,
            "connect_timeout": max(1, int(target.timeout)),
        }  # fmt: skip
        for name, value in target.properties.items():
            if name in _GIVEN:
                found[_GIVEN[name]] = max(1, int(value) // 1000)
            elif name.lower() in _TLS:
                found.update(_tls(name, value, target.properties.get("sslCa")))
            elif name == _ZERO:
                found["conv"] = _converters(value)
            elif name != "sslCa" and name not in _WITHOUT_EFFECT:
                raise ValueError(f"'{name}' is no property of a connection to {self.title} here")
        return found

    def is_passing(self, error: BaseException) -> bool:
        if isinstance(error, pymysql().err.InterfaceError):
            return True  # of a connection that is closed
        return isinstance(error, pymysql().err.MySQLError) and bool(error.args) and error.args[0] in _PASSING

    def literal(self, value: Any, kind: DataType) -> str | None:
        # What a backslash means depends on the session.
        if isinstance(value, str) and "\\" in value:
            return None
        return sql_constant(value, kind, lambda text: "'" + text.replace("'", "''") + "'")

    def selected(self, name: str, kind: DataType) -> str:
        # Servers write a FLOAT with six digits, a DOUBLE with all; a text stays what it is.
        read = self.name(name)
        return f"IF(TRUE, {read}, 0e0) AS {read}" if family_of(kind) is Family.APPROXIMATE else read

    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        with (
            closing(self.connect(target)) as connection,
            closing(connection.cursor(pymysql().cursors.SSCursor)) as cursor,
        ):
            cursor.execute(query)
            with _advising():
                yield from fetched(cursor, kinds, fetch)

    def find(
        self,
        connection: Connection,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]] | None:
        names = [name for name, _ in keys]
        left, literals = self._compared(connection, table, names, values, [kind for _, kind in keys])
        given = ", ".join(text_pieces(literals, 1 << 40))
        read = ", ".join(self.selected(name, kind) for name, kind in keys)
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"SELECT {wanted}, {read} FROM {table} WHERE {left} IN ({given})")
            codes = [each[1] for each in (cursor.description or ())[-len(keys) :]]
            # Numbers and times are compared with a text as DOUBLEs, of which several may be the same.
            unlike = [place for place, code in enumerate(codes) if code not in _text_codes()]
            return rows_by_key(cursor.fetchall(), keys, values, unlike)

    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        with _advising():
            return columns_of(rows, kinds)

    def append(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, kinds, "")

    def upsert(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, kinds, f" {self._names(shape).duplicate_clause()}")

    def _insert(
        self,
        connection: Connection,
        shape: TableShape,
        columns: Sequence[pa.Array],
        kinds: Sequence[DataType],
        behind: str,
    ) -> None:
        names = self._names(shape)
        head = f"INSERT INTO {names.table} ({', '.join(names.columns)}) VALUES "
        rows = row_literals(self._texts(connection, columns, kinds))
        with closing(connection.cursor()) as cursor:
            for piece in text_pieces(rows, _PIECE):
                cursor.execute(head + piece + behind)

    def delete(
        self, connection: Connection, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        table = self.table(shape.table)
        left, literals = self._compared(connection, table, shape.keys, keys, kinds)
        with closing(connection.cursor()) as cursor:
            for piece in text_pieces(literals, _PIECE):
                cursor.execute(f"DELETE FROM {table} WHERE {left} IN ({piece})")

    def _compared(
        self,
        connection: Connection,
        table: str,
        names: Sequence[str],
        columns: Sequence[pa.Array],
        kinds: Sequence[DataType],
    ) -> tuple[str, pa.Array]:
        """The two sides of IN: key columns, and literals that find in them what was written as these values."""
        natives = self._natives(connection, table) if any(family_of(kind) is Family.BYTES for kind in kinds) else {}
        ways: list[list[pa.Array]] = []
        for name, column, kind in zip(names, columns, kinds):
            native, numbers = natives.get(name.lower(), ("", ()))
            if native == "bit":
                ways.append([_bit_literals(column)])
                continue
            if native == "binary":
                column = pa.array(
                    [None if value is None else value.ljust(numbers[0], b"\0") for value in column.to_pylist()],
                    column.type,
                )
            spelled = [column]
            if isinstance(kind, t.CharType):  # the server cuts the blanks off, and some collations compare them
                spelled.append(pc.ascii_rtrim(column, " "))
            ways.append([text for each in spelled for text in self._texts(connection, [each], [kind])])
        if len(ways) == 1:
            return self.name(names[0]), pa.concat_arrays(ways[0])
        rows = pa.concat_arrays([row_literals(each) for each in itertools.product(*ways)])
        return f"({', '.join(map(self.name, names))})", rows

    def _natives(self, connection: Connection, table: str) -> dict[str, tuple[str, Sequence[int]]]:
        """column, in small letters -> its type in the database, and the numbers of that"""
        found = query_rows(connection, f"SHOW COLUMNS FROM {table}")
        return {_text(name).lower(): sized_type(_text(native)) for name, native, *_ in found}

    def _names(self, shape: TableShape) -> UpsertNames:
        return UpsertNames(self.table(shape.table), [*map(self.name, shape.columns)], [*map(self.name, shape.keys)])

    def _texts(self, connection: Any, columns: Sequence[pa.Array], kinds: Sequence[DataType]) -> list[pa.Array]:
        from pymysql.constants import SERVER_STATUS

        plain = connection.server_status & SERVER_STATUS.SERVER_STATUS_NO_BACKSLASH_ESCAPES
        return [
            sql_literals(each, kind, _quotes if plain else _backslashes, self.title)
            for each, kind in zip(columns, kinds)
        ]


class MariaDbDialect(MySqlDialect):
    title = "MariaDB"


def pymysql() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import pymysql as found
        import pymysql.cursors
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@contextmanager
def _advising() -> Iterator[None]:
    """Says what to do about a date that the driver leaves a text, as its day is not in the calendar."""
    try:
        yield
    except ValueError as error:
        if not re.search(r"has '\d{4}-\d\d-\d\d", str(error)):
            raise
        way = f"'{_ZERO}' = 'CONVERT_TO_NULL' in the URL reads such dates as NULL, 'ROUND' as {FIRST_DAY}"
        raise ValueError(f"{error}. {way}") from None


def _converters(behavior: str) -> dict[Any, Any]:
    """What makes values of the server's texts, of which dates may be none: 0000-00-00, the 31st of June.

    :raises ValueError: there is no such behaviour.
    """
    from pymysql import converters
    from pymysql.constants import FIELD_TYPE

    word = behavior.replace("_", "").lower()
    if word not in ("exception", "converttonull", "round"):
        raise ValueError(f"'{_ZERO}' is EXCEPTION, CONVERT_TO_NULL or ROUND, not '{behavior}'")
    if word == "exception":
        return dict(converters.conversions)

    def lenient(convert: Any, first: Any) -> Any:
        def one(text: str) -> Any:
            found = convert(text)
            if not isinstance(found, str):
                return found
            return None if word == "converttonull" else first

        return one

    return {
        **converters.conversions,
        FIELD_TYPE.DATE: lenient(converters.convert_date, FIRST_DAY),
        FIELD_TYPE.DATETIME: lenient(converters.convert_datetime, FIRST_MOMENT),
        FIELD_TYPE.TIMESTAMP: lenient(converters.convert_datetime, FIRST_MOMENT),
    }


def _text_codes() -> Collection[int]:
    from pymysql.constants import FIELD_TYPE as codes

    blobs = (codes.TINY_BLOB, codes.BLOB, codes.MEDIUM_BLOB, codes.LONG_BLOB)
    return {codes.VARCHAR, codes.VAR_STRING, codes.STRING, codes.ENUM, codes.SET, codes.JSON, *blobs}


def _bit_literals(column: pa.Array) -> pa.Array:
    """Bytes as the numbers that a BIT is compared as; NULL for what no BIT has."""
    numbers = [None if value is None else int.from_bytes(value, "big") for value in column.to_pylist()]
    return pa.array(["NULL" if number is None or number >= 1 << 64 else str(number) for number in numbers])


def _quotes(texts: pa.Array) -> pa.Array:
    return pc.replace_substring(texts, "'", "''")


def _backslashes(texts: pa.Array) -> pa.Array:
    return _quotes(pc.replace_substring(texts, "\\", "\\\\"))


def _tls(name: str, value: str, authority: str | None) -> dict[str, Any]:
    """How the connection is encrypted.

    :param authority: a file with the certificate that the server's must go back to.
    """
    word = value.lower().replace("_", "-")
    if word in ("false", "disabled", "disable", "0"):
        return {}
    if authority is not None:
        return {"ssl": {"ca": authority, "check_hostname": word in ("verify-full", "verify-identity", "true")}}
    if word.startswith("verify"):
        raise ValueError(f"'{name}' = '{value}' needs 'sslCa', the file of a certificate")
    return {"ssl": {"check_hostname": False}}


# The catalog

_NOT_OURS = ("information_schema", "mysql", "performance_schema", "sys")
_MOST = 38


def _decimal(numbers: Sequence[int]) -> DataType:
    precision, scale = (*numbers, 10, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
    return t.DecimalType(precision, scale) if precision <= _MOST else t.string()


def _bits(numbers: Sequence[int]) -> DataType:
    return t.BooleanType() if not numbers or numbers[0] == 1 else t.VarBinaryType(t.MAX_LENGTH)


def _tiny(numbers: Sequence[int]) -> DataType:
    return t.BooleanType() if [*numbers] == [1] else t.TinyIntType()


def _bytes(numbers: Sequence[int]) -> DataType:
    return t.VarBinaryType(t.MAX_LENGTH)


def _digits(numbers: Sequence[int]) -> int:
    return numbers[0] if numbers else 0


_TYPES: Mapping[str, Callable[[Sequence[int]], DataType]] = {
    "tinyint": _tiny,
    "tinyint unsigned": lambda numbers: t.SmallIntType(),
    "smallint": lambda numbers: t.SmallIntType(),
    "smallint unsigned": lambda numbers: t.IntType(),
    "mediumint": lambda numbers: t.IntType(),
    "mediumint unsigned": lambda numbers: t.IntType(),
    "int": lambda numbers: t.IntType(),
    "int unsigned": lambda numbers: t.BigIntType(),
    "bigint": lambda numbers: t.BigIntType(),
    "bigint unsigned": lambda numbers: t.DecimalType(20, 0),
    "year": lambda numbers: t.IntType(),
    "float": lambda numbers: t.FloatType(),
    "float unsigned": lambda numbers: t.FloatType(),
    "double": lambda numbers: t.DoubleType(),
    "double unsigned": lambda numbers: t.DoubleType(),
    "decimal": _decimal,
    "decimal unsigned": _decimal,
    "bit": _bits,
    "char": lambda numbers: t.CharType((*numbers, 1)[0]),
    "varchar": lambda numbers: t.VarCharType((*numbers, t.MAX_LENGTH)[0]),
    "date": lambda numbers: t.DateType(),
    "time": lambda numbers: t.TimeType(_digits(numbers)),
    "datetime": lambda numbers: t.TimestampType(_digits(numbers)),
    "timestamp": lambda numbers: t.LocalZonedTimestampType(_digits(numbers)),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point"), _bytes),
}


def mysql_type(native: str) -> DataType:
    """What a type is read and written as; all that is not known (json, enums, sets, uuid, ...) as text."""
    name, numbers = sized_type(native.replace(" zerofill", ""))
    make = _TYPES.get(name)
    return t.string() if make is None else make(numbers)


class MySqlMetadata(Metadata):
    def databases(self, connection: Connection) -> list[str]:
        return [name for (name,) in query_rows(connection, "SHOW DATABASES") if name.lower() not in _NOT_OURS]

    def tables(self, connection: Connection) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
        return [name for (name,) in query_rows(connection, query)]

    def columns(self, connection: Connection, table: str) -> list[ColumnFound]:
        query = (
            "SELECT column_name, column_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position"
        )
        found = [(name, _text(native), nullable) for name, native, nullable in query_rows(connection, query, table)]
        return [
            ColumnFound(name, native, mysql_type(native) if nullable == "YES" else mysql_type(native).not_null())
            for name, native, nullable in found
        ]

    def key(self, connection: Connection, table: str) -> KeyFound | None:
        query = (
            "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = DATABASE() "
            "AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position"
        )
        found = [name for (name,) in query_rows(connection, query, table)]
        return KeyFound("PRIMARY", tuple(found)) if found else None

    def rows(self, connection: Connection, table: str) -> int | None:
        query = "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
        found = query_rows(connection, query, table)
        return int(found[0][0]) if found and found[0][0] is not None else None

    def statistics(self, connection: Connection, table: str) -> dict[str, ColumnFacts]:
        # Of columns that an index begins with; more is known only to who may read the system's own tables.
        query = (
            "SELECT column_name, MAX(cardinality) FROM information_schema.statistics WHERE table_schema = DATABASE() "
            "AND table_name = %s AND seq_in_index = 1 AND cardinality IS NOT NULL GROUP BY column_name"
        )
        return {name: ColumnFacts(distinct=int(distinct)) for name, distinct in query_rows(connection, query, table)}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
