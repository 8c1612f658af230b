"""PostgreSQL: its dialect, its catalog, and the options of libpq. psycopg runs statements, ADBC reads into Arrow."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

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
    LAST_DAY,
    LAST_MOMENT,
    YEARS,
    array_literal,
    plain_texts,
    sql_constant,
)
from millrace.relational import types as t
from millrace.relational.precision import canonical, decimals_of_texts
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_python

# Options of libpq

_RENAMED: Mapping[str, str] = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}
_KNOWN = frozenset(
    [
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "keepalives_idle",
        "sslcert",
        "sslkey",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
        "tcp_user_timeout",
    ]
)
_WITHOUT_EFFECT = frozenset(
    [
        "binaryTransfer",
        "defaultRowFetchSize",
        "loginTimeout",
        "prepareThreshold",
        "reWriteBatchedInserts",
        "stringtype",
        "tcpKeepAlive",
    ]
)
"""Properties of Java's driver without effect: they make it faster, or what they turn on is always on here."""


def libpq_arguments(target: Target) -> dict[str, str]:
    """:raises ValueError: a property that libpq does not have."""
    found = {
        "host": ",".join(host for host, _ in target.hosts),
        "port": ",".join(str(port) for _, port in target.hosts),
        "dbname": target.database,
        "connect_timeout": str(max(2, int(target.timeout))),
        "tcp_user_timeout": str(int(target.timeout * 1000)),
        "options": "-c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres",
    }
    if target.user is not None:
        found["user"] = target.user
    if target.password is not None:
        found["password"] = target.password
    for name, value in target.properties.items():
        if name == "currentSchema":
            found["options"] += f" -c search_path={value}"
        elif name == "options":
            found["options"] += f" {value}"
        elif name == "ssl":
            if value.lower() != "false":
                found.setdefault("sslmode", "verify-full")  # what that driver does
        elif (known := _RENAMED.get(name, name)) in _KNOWN:
            found[known] = value
        elif name not in _WITHOUT_EFFECT:
            raise ValueError(f"'{name}' is no property of a connection to PostgreSQL here")
    return found


def libpq_uri(target: Target) -> str:
    """The connection arguments of libpq as one URI."""
    given = {name: value for name, value in libpq_arguments(target).items() if name not in ("host", "port", "dbname")}
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in target.hosts)
    query = urllib.parse.urlencode(given, quote_via=urllib.parse.quote)
    return f"postgresql://{hosts}/{urllib.parse.quote(target.database, safe='')}?{query}"


# The dialect

_MISSING = "{} can't be imported, which tables of PostgreSQL need: pip install 'millrace-streaming[postgres]' ({})"
_READ = {
    t.BooleanType: "bool", t.TinyIntType: "int2", t.SmallIntType: "int2", t.IntType: "int4", t.BigIntType: "int8",
    t.FloatType: "float4", t.DoubleType: "float8", t.CharType: "text", t.VarCharType: "text", t.BinaryType: "bytea",
    t.VarBinaryType: "bytea", t.DateType: "date", t.TimeType: "time", t.TimestampType: "timestamp",
    t.LocalZonedTimestampType: "timestamptz",
}  # fmt: skip
_UNBOUNDED = {"character": "bpchar", "bit": "varbit"}
"""Types that without a length have a length of 1 -> the type without a limit."""
_ENDS = {
    kind: f"WHEN {kind} 'infinity' THEN {kind} '{last}{zone}' WHEN {kind} '-infinity' THEN {kind} '{first}{zone}'"
    for kind, first, last, zone in (
        ("date", FIRST_DAY, LAST_DAY, ""),
        ("timestamp", FIRST_MOMENT, LAST_MOMENT, ""),
        ("timestamptz", FIRST_MOMENT, LAST_MOMENT, "+00"),
    )
}
"""type -> what its infinite values are here: a driver would make any time of them"""
_MOST_DIGITS = 1_000
"""The most digits of a numeric that PostgreSQL rounds to its type."""
_CHUNK = 50_000
_PASSING = ("08", "40", "53", "55P03", "57P")
"""beginnings of SQLSTATEs: no connection, a conflict of transactions, no room, a lock, shutting down"""


class PostgreSqlDialect(Dialect):
    title = "PostgreSQL"
    families = frozenset(
        {
            Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
            Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
        }
    )  # fmt: skip

    aggregated = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP})
    grouped = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.BOOLEAN, Family.TEXT})

    def compared(self, name: str, kind: DataType) -> str:
        # Collations may take different texts for equal.
        return f'{self.name(name)} COLLATE "C"' if family_of(kind) is Family.TEXT else self.name(name)

    def open(self, target: Target) -> Any:
        connection = psycopg().connect(**libpq_arguments(target))
        connection.prepare_threshold = None  # poolers between us and the database do not know such statements
        _read_far_times_as_texts(connection)
        return connection

    def is_passing(self, error: BaseException) -> bool:
        driver = psycopg()
        state = getattr(error, "sqlstate", None)
        if state is not None:
            return str(state).startswith(_PASSING)
        if not isinstance(error, (driver.OperationalError, driver.InterfaceError)):
            return False
        said = str(error)
        return not any(
            each in said for each in ("password", "authentication", "does not exist", "resolve", "no pg_hba")
        )

    def literal(self, value: Any, kind: DataType) -> str | None:
        if family_of(kind) is Family.INSTANT and value is not None:
            return f"TIMESTAMPTZ '{value.isoformat(sep=' ')}'"
        return sql_constant(
            value, kind, lambda text: "'" + text.replace("'", "''") + "'" if "\\" not in text else _e(text)
        )

    def selected(self, name: str, kind: DataType) -> str:
        return f"{_in_type(self.name(name), kind)} AS {self.name(name)}"

    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        wanted = [arrow_type(kind) for kind in kinds]
        with _adbc().connect(libpq_uri(target), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                for begin in range(0, len(batch), fetch or max(len(batch), 1)):
                    some = batch.slice(begin, fetch or None)
                    columns = [
                        _read(name, column, a, kind)
                        for name, column, a, kind in zip(some.schema.names, some.columns, wanted, kinds)
                    ]
                    yield pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])

    def find(
        self,
        connection: Any,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]]:
        # The key's number comes along: the database says itself which key a row was found by.
        types = self._types(connection, table, [name for name, _ in keys])
        names = [f"millrace_key_{place}" for place in range(len(keys))]
        # Texts as what the column is, which may be a uuid; numbers as they are, which may be too large for the column.
        casts = [
            types[name] if family_of(kind) is Family.TEXT else _READ.get(type(kind), "numeric") for name, kind in keys
        ]
        same = " AND ".join(f"{self.name(name)} = {key}::{cast}" for key, cast, (name, _) in zip(names, casts, keys))
        given = ", ".join(["%s::text[]"] * len(keys))
        asked = f"unnest({given}) WITH ORDINALITY AS millrace_keys({', '.join(names)}, millrace_place)"
        rows = _doubled(f"SELECT {wanted} FROM {table} WHERE {same}")
        query = f"SELECT millrace_place, found.* FROM {asked} CROSS JOIN LATERAL ({rows}) AS found"
        found = connection.execute(
            query, [array_literal(plain_texts(each, kind)) for each, (_, kind) in zip(values, keys)]
        )
        return [(row[0] - 1, row[1:]) for row in found.fetchall()]

    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        columns = zip(*rows) if rows else [()] * len(kinds)
        return [_python(list(column), kind) for column, kind in zip(columns, kinds)]

    def append(
        self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        names = ", ".join(map(self.name, shape.columns))
        texts = [plain_texts(column, kind) for column, kind in zip(columns, kinds)]
        # Only NULL is without quotes here: that is how COPY tells it from an empty text.
        table = pa.table(dict(zip([f"c{place}" for place in range(len(texts))], texts)))
        out = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=False, quoting_style="all_valid"))
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {self.table(shape.table)} ({names}) FROM STDIN (FORMAT csv)") as copy,
        ):
            copy.write(out.getvalue())

    def upsert(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        names = UpsertNames(self.table(shape.table), [*map(self.name, shape.columns)], [*map(self.name, shape.keys)])
        rows = self._unnest(connection, shape, shape.columns)
        into = f"INSERT INTO {names.table} ({', '.join(names.columns)}) {rows} {names.conflict_clause()}"
        self._in_chunks(connection, into, columns, kinds)

    def delete(
        self, connection: Connection, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        rows = self._unnest(connection, shape, shape.keys)
        same = " AND ".join(f"t.{self.name(key)} = k.c{place}" for place, key in enumerate(shape.keys))
        statement = f"DELETE FROM {self.table(shape.table)} AS t USING ({rows}) AS k WHERE {same}"
        self._in_chunks(connection, statement, keys, kinds)

    def _unnest(self, connection: Connection, shape: TableShape, columns: Sequence[str]) -> str:
        """Rows of parameters, a column of texts each, in the types that the columns of the table have."""
        types = self._types(connection, self.table(shape.table), shape.columns)
        made = ", ".join(f"c{place}::{types[name]} AS c{place}" for place, name in enumerate(columns))
        names = ", ".join(f"c{place}" for place in range(len(columns)))
        return f"SELECT {_doubled(made)} FROM unnest({', '.join(['%s::text[]'] * len(columns))}) AS u({names})"

    def _types(self, connection: Any, table: str, columns: Sequence[str]) -> dict[str, str]:
        """:raises LookupError: the table lacks a column. A table that is not there is the database's own error."""
        found = connection.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            [table],
        )
        types = {name: _UNBOUNDED.get(kind, kind) for name, kind in found.fetchall()}
        missing = [name for name in columns if name not in types]
        if missing:
            raise LookupError(f"table {table} of PostgreSQL has no column '{missing[0]}'; it has {', '.join(types)}")
        return types

    def _in_chunks(
        self, connection: Any, statement: str, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        for begin in range(0, len(columns[0]), _CHUNK):
            texts = [
                array_literal(plain_texts(column.slice(begin, _CHUNK), kind)) for column, kind in zip(columns, kinds)
            ]
            connection.execute(statement, texts)


def psycopg() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import psycopg as found
    except ImportError as error:
        raise ImportError(_MISSING.format("psycopg", error)) from error
    return found


def _adbc() -> Any:
    try:
        import adbc_driver_postgresql.dbapi as found
    except ImportError as error:
        raise ImportError(_MISSING.format("adbc_driver_postgresql", error)) from error
    return found


def _in_type(expression: str, kind: DataType, depth: str = "") -> str:
    if isinstance(kind, t.ArrayType):
        return _in_type(expression, kind.element_type, depth + "[]")
    if isinstance(kind, t.DecimalType):
        # As text: Arrow has no numbers with any number of digits.
        if depth:
            return f"{expression}::numeric({_MOST_DIGITS}, {kind.scale}){depth}::text{depth}"
        return f"round({expression}::numeric, {kind.scale})::text"
    cast = f"{expression}::{_READ[type(kind)]}{depth}"
    ends = _ENDS.get(_READ[type(kind)])
    if ends is None:
        return cast
    if not depth:
        return f"CASE {cast} {ends} ELSE {cast} END"
    infinite = f"'infinity' = ANY({cast}) OR '-infinity' = ANY({cast})"
    each = f"SELECT CASE each {ends} ELSE each END FROM unnest({cast}) WITH ORDINALITY AS of_array (each, place)"
    # Only arrays of one dimension: of others unnest makes one.
    several = f"array_ndims({cast}) = 1 AND ({infinite})"
    return f"CASE WHEN {several} THEN ARRAY({each} ORDER BY place) ELSE {cast} END"


def _read(name: str, column: pa.Array, wanted: pa.DataType, kind: DataType) -> pa.Array:
    try:
        return canonical(_padded(_stored(column).cast(wanted), kind), kind)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name} has a value that is no {kind}: {error}{_advice(error, kind)}") from None


def _advice(error: Exception, kind: DataType) -> str:
    said = str(error)
    if isinstance(kind, t.DecimalType) and ("NaN" in said or "Infinity" in said):
        return ". Declare the column as DOUBLE, which has NaN and infinities, or read a view that has NULL instead"
    return ""


def _stored(column: pa.Array) -> pa.Array:
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _padded(column: pa.Array, kind: DataType) -> pa.Array:
    """As a cast to text would not leave it."""
    return pc.utf8_rpad(column, kind.length) if isinstance(kind, t.CharType) else column


def _read_far_times_as_texts(connection: Any) -> None:
    """The driver's own error for a time that Python does not have names no column."""
    from psycopg import DataError
    from psycopg.adapt import Loader
    from psycopg.pq import Format

    def lenient(base: Any) -> type[Loader]:
        class Lenient(Loader):
            def __init__(self, oid: int, context: Any = None) -> None:
                super().__init__(oid, context)
                self._own = base(oid, context)

            def load(self, data: Any) -> Any:
                try:
                    return self._own.load(data)
                except DataError:
                    return bytes(data).decode()

        return Lenient

    for name in ("date", "timestamp", "timestamptz"):
        oid = connection.adapters.types[name].oid
        connection.adapters.register_loader(oid, lenient(connection.adapters.get_loader(oid, Format.TEXT)))


def _python(values: list[Any], kind: DataType) -> list[Any]:
    """What psycopg gives, which ``_in_type`` has brought near."""
    if family_of(kind) in (Family.DATE, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY):
        for value in values:
            _refuse_far(value, kind)
    if isinstance(kind, t.DecimalType):
        return to_python(decimals_of_texts(pa.array(values, pa.string()), kind), kind)
    if isinstance(kind, t.CharType):
        return [None if value is None else value.ljust(kind.length) for value in values]
    return values


def _refuse_far(value: Any, kind: DataType) -> None:
    """:raises ValueError: a time that the driver has left a text."""
    if isinstance(kind, t.ArrayType):
        for each in value or ():
            _refuse_far(each, kind.element_type)
    elif isinstance(value, str) and family_of(kind) is not Family.TEXT:
        raise ValueError(f"it has {value!r}, which is no {kind} here{YEARS}")


def _e(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _doubled(text: str) -> str:
    """In a statement with parameters."""
    return text.replace("%", "%%")


# The catalog

_NOT_OURS = "('pg_catalog', 'information_schema')"
_COLUMNS = """
    SELECT a.attname, format_type(COALESCE(NULLIF(y.typbasetype, 0), a.atttypid),
                                  CASE WHEN y.typbasetype = 0 THEN a.atttypmod ELSE y.typtypmod END), a.attnotnull
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY = """
    SELECT c.conname, a.attname FROM pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
    WHERE c.contype = 'p' AND c.conrelid = to_regclass(%s) ORDER BY k.place
"""
_STATISTICS = """
    SELECT attname, null_frac, n_distinct, avg_width, (histogram_bounds::text::text[])[1],
           (histogram_bounds::text::text[])[array_upper(histogram_bounds::text::text[], 1)]
    FROM pg_stats WHERE schemaname = %s AND tablename = %s AND NOT inherited
"""
DIGITS, SCALE = 38, 18
"""Precision and scale that Flink gives to a numeric without either."""


def _decimal(numbers: Sequence[int]) -> DataType:
    if not numbers:
        return t.DecimalType(DIGITS, SCALE)
    precision, scale = (*numbers, 0)[:2]
    return t.DecimalType(precision, scale) if precision <= DIGITS and scale >= 0 else t.string()


def _first(numbers: Sequence[int], default: int) -> int:
    return numbers[0] if numbers else default


_TYPES: Mapping[str, Callable[[Sequence[int]], DataType]] = {
    "boolean": lambda numbers: t.BooleanType(),
    "smallint": lambda numbers: t.SmallIntType(),
    "integer": lambda numbers: t.IntType(),
    "bigint": lambda numbers: t.BigIntType(),
    "real": lambda numbers: t.FloatType(),
    "double precision": lambda numbers: t.DoubleType(),
    "numeric": _decimal,
    "bytea": lambda numbers: t.VarBinaryType(t.MAX_LENGTH),
    "character": lambda numbers: t.CharType(_first(numbers, 1)),
    "character varying": lambda numbers: t.VarCharType(_first(numbers, t.MAX_LENGTH)),
    "date": lambda numbers: t.DateType(),
    "time without time zone": lambda numbers: t.TimeType(_first(numbers, 6)),
    "timestamp without time zone": lambda numbers: t.TimestampType(_first(numbers, 6)),
    "timestamp with time zone": lambda numbers: t.LocalZonedTimestampType(_first(numbers, 6)),
}


def _distinct(found: float, rows: int | None) -> int | None:
    """The number of different values: below zero it is a part of the rows, zero says nothing."""
    if found > 0:
        return round(found)
    return None if found == 0 or rows is None else round(-found * rows)


def postgresql_type(native: str) -> DataType:
    """What a type is read and written as. Those that Millrace does not have (uuid, json, enums, ...) are texts in
    PostgreSQL's own form."""
    if native.endswith("[]"):
        return t.ArrayType(postgresql_type(native[:-2]))
    name, numbers = sized_type(native)
    make = _TYPES.get(name)
    return t.string() if make is None else make(numbers)


class PostgreSqlMetadata(Metadata):
    def databases(self, connection: Connection) -> list[str]:
        query = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datallowconn ORDER BY 1"
        return [name for (name,) in query_rows(connection, query)]

    def tables(self, connection: Connection) -> list[str]:
        query = (
            "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN {_NOT_OURS} "
            "AND n.nspname NOT LIKE 'pg\\_t%' ORDER BY 1"
        )
        return [name for (name,) in query_rows(connection, query)]

    def full_name(self, table: str) -> str:
        return table if "." in table else f"public.{table}"

    def columns(self, connection: Connection, table: str) -> list[ColumnFound]:
        found = query_rows(connection, _COLUMNS, self._quoted(table))
        return [
            ColumnFound(name, native, postgresql_type(native).not_null() if required else postgresql_type(native))
            for name, native, required in found
        ]

    def key(self, connection: Connection, table: str) -> KeyFound | None:
        found = query_rows(connection, _KEY, self._quoted(table))
        return KeyFound(found[0][0], tuple(name for _, name in found)) if found else None

    def rows(self, connection: Connection, table: str) -> int | None:
        found = query_rows(
            connection, "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", self._quoted(table)
        )
        return int(found[0][0]) if found and found[0][0] >= 0 else None

    def statistics(self, connection: Connection, table: str) -> dict[str, ColumnFacts]:
        rows = self.rows(connection, table)
        schema, _, name = self.full_name(table).partition(".")
        return {
            column: ColumnFacts(
                None if rows is None else round(nulls * rows),
                _distinct(distinct, rows),
                float(width),
                least,
                greatest,
            )
            for column, nulls, distinct, width, least, greatest in query_rows(connection, _STATISTICS, schema, name)
        }

    def _quoted(self, table: str) -> str:
        return ".".join('"' + part.replace('"', '""') + '"' for part in self.full_name(table).split("."))
