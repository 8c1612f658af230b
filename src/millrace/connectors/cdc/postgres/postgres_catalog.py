"""Queries to a captured PostgreSQL server: connections for them, and the tables with their schemas and keys.

``PostgresSettings`` says where the server is, which tables are captured, and under which slot and publication.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.events import Column, TableId, TableSchema
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect, postgresql_type, psycopg
from millrace.connectors.stores import ConnectionFailed

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class PostgresSettings:
    """Where, which tables, and what keeps the log for this job.

    :ivar schemas: regular expressions; :ivar tables: regular expressions of ``schema.table``. Each has to match the
        whole name.
    :ivar publication: its name; empty: one of this slot's own, which is made.
    :ivar autocreate: ``filtered`` (make a publication of the captured tables, add tables to it), ``all_tables``,
        ``disabled``.
    :ivar drop_slot: whether the slot goes when the job ends, and the publication that was made with it.
    :ivar heartbeat: seconds after which the server is asked how far it is, if nothing comes; 0: never.
    :ivar retries: how often a connection is tried once more.
    :ivar delay: checkpoints that are recorded before what comes before one of them is confirmed: so many older ones
        can still be gone on from.
    :ivar wait: seconds that is waited for open transactions, and for whoever else uses the slot.
    """

    target: Target
    schemas: tuple[str, ...]
    tables: tuple[str, ...]
    slot: str
    publication: str = ""
    autocreate: str = "filtered"
    drop_slot: bool = False
    heartbeat: float = 30.0
    wait: float = 60.0
    retries: int = 3
    delay: int = 0

    def __post_init__(self) -> None:
        if not _SLOT.fullmatch(self.slot):
            raise ValueError(f"a slot's name has small letters, digits and _ only, at most 63, not {self.slot!r}")
        for text in (*self.schemas, *self.tables):
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{text!r} is no regular expression: {error}") from None

    @property
    def publication_name(self) -> str:
        return self.publication or f"millrace_{self.slot}"[:63]

    @property
    def place(self) -> str:
        return f"PostgreSQL at {self.target.place}"

    def wants(self, schema: str, table: str) -> bool:
        """Whether a table is captured."""
        return any(re.fullmatch(each, schema) for each in self.schemas) and any(
            re.fullmatch(each, f"{schema}.{table}") for each in self.tables
        )


PAUSE_SECONDS = 0.5
_NOT_YET = "FATAL:  the database system is"
STATEMENT_SECONDS = 300
"""The most seconds that a query may take."""


@contextmanager
def connected(settings: PostgresSettings, name: str, seconds: float = STATEMENT_SECONDS) -> Iterator[Any]:
    """A connection that commits each statement by itself.

    :param name: that the server shows for it. :param seconds: in which a statement has to end.
    :raises ConnectionFailed: with the place, without the password.
    """
    connection = connect(settings, name, seconds)
    try:
        yield connection
    finally:
        connection.close()


def connect(settings: PostgresSettings, name: str, seconds: float = STATEMENT_SECONDS) -> Any:
    connection = _connect_with_retries(settings)
    connection.autocommit = True
    connection.execute("SELECT set_config('application_name', %s, false)", [name])
    connection.execute("SELECT set_config('statement_timeout', %s, false)", [f"{int(seconds * 1000)}ms"])
    return connection


def _connect_with_retries(settings: PostgresSettings) -> Any:
    """Connect, and retry ``settings.retries`` times after half a second, one, two, ...; while the server answers
    that it is starting, recovering or shutting down, retry for ``settings.wait`` seconds."""
    left, pause, until = settings.retries, PAUSE_SECONDS, time.monotonic() + settings.wait
    while True:
        try:
            return PostgreSqlDialect().connect(settings.target)
        except ConnectionFailed as error:
            if _NOT_YET in str(error) and time.monotonic() < until:
                time.sleep(PAUSE_SECONDS)
                continue
            if left <= 0 or not error.passing:
                raise
        time.sleep(pause)
        left, pause = left - 1, pause * 2


def psycopg_sql() -> Any:
    """psycopg's composer of statements."""
    psycopg()
    from psycopg import sql as found

    return found


_TABLES = """
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, c.relpersistence
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(temp|toast)'
    ORDER BY 2, 3
"""
_COLUMNS = """
    SELECT a.attname, format_type(COALESCE(NULLIF(y.typbasetype, 0), a.atttypid),
                                  CASE WHEN y.typbasetype = 0 THEN a.atttypmod ELSE y.typtypmod END),
           a.attnotnull, col_description(a.attrelid, a.attnum), pg_get_expr(d.adbin, d.adrelid)
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_KEY = """
    SELECT a.attname FROM pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
    WHERE c.contype = 'p' AND c.conrelid = %s ORDER BY k.place
"""
_TYPES = """
    SELECT format_type(COALESCE(NULLIF(y.typbasetype, 0), y.oid),
                       CASE WHEN y.typbasetype = 0 THEN wanted.modifier ELSE y.typtypmod END)
    FROM unnest(%s::bigint[], %s::int[]) WITH ORDINALITY AS wanted(type, modifier, place)
    LEFT JOIN pg_type y ON y.oid = wanted.type ORDER BY wanted.place
"""
_COLLATION = """
    SELECT format_type(a.atttypid, a.atttypmod), n.nspname, l.collname,
           CASE WHEN l.collname = 'default' THEN d.datcollate ELSE l.collcollate END
    FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
    LEFT JOIN pg_namespace n ON n.oid = l.collnamespace
    JOIN pg_database d ON d.datname = current_database()
    WHERE a.attrelid = to_regclass(%s) AND a.attname = %s AND NOT a.attisdropped
"""
_BY_BYTES = re.compile(r"(C|POSIX|C\.utf-?8)", re.IGNORECASE)
"""collations whose order is that of the bytes of UTF-8, as Python's"""


@dataclass(frozen=True)
class FoundTable:
    """:ivar kind: ``r``, or ``p`` if it has partitions. :ivar identity: its REPLICA IDENTITY, one letter."""

    oid: int
    id: TableId
    kind: str
    identity: str
    logged: bool


@dataclass(frozen=True)
class KeyColumn:
    """How values of a column are compared. :ivar collation: as it stands in statements, empty for none.
    :ivar by_bytes: texts are in the order that Python has for them, too."""

    native: str
    collation: str
    by_bytes: bool


def find_tables(connection: Any, settings: PostgresSettings) -> list[FoundTable]:
    """The tables that the patterns name."""
    namespace = settings.target.database
    return [
        FoundTable(oid, TableId(namespace, schema, name), kind, identity, persistence == "p")
        for oid, schema, name, kind, identity, persistence in connection.execute(_TABLES).fetchall()
        if settings.wants(schema, name)
    ]


def schema_of(connection: Any, oid: int) -> TableSchema:
    """Columns as they are in the log: those that are computed from others are not there."""
    columns = tuple(
        Column(name, _nullable(native, required), native, comment, default)
        for name, native, required, comment, default in connection.execute(_COLUMNS, [oid]).fetchall()
    )
    return TableSchema(columns, key_of(connection, oid))


def _nullable(native: str, required: bool) -> Any:
    return postgresql_type(native).not_null() if required else postgresql_type(native)


def table_oid(connection: Any, table: TableId) -> int | None:
    """None: it is not there (any more)."""
    found = connection.execute("SELECT to_regclass(%s)::oid", [quoted(table)]).fetchone()
    return None if found is None or found[0] is None else int(found[0])


def key_of(connection: Any, oid: int) -> tuple[str, ...]:
    return tuple(name for (name,) in connection.execute(_KEY, [oid]).fetchall())


def native_types(connection: Any, wanted: list[tuple[int, int]]) -> list[str | None]:
    """The names of types, by their numbers and modifiers; None for one that is no more."""
    found = connection.execute(_TYPES, [[kind for kind, _ in wanted], [modifier for _, modifier in wanted]])
    return [name for (name,) in found.fetchall()]


def key_column(connection: Any, table: TableId, column: str) -> KeyColumn:
    """:raises LookupError: there is no such column (any more)."""
    found = connection.execute(_COLLATION, [quoted(table), column]).fetchone()
    if found is None:
        raise LookupError(f"table {table} has no column '{column}' any more")
    native, schema, name, locale = found
    if name is None:
        return KeyColumn(native, "", native == "uuid")
    by_bytes = bool(_BY_BYTES.fullmatch(locale or "")) and not native.startswith(("character(", "bpchar"))
    return KeyColumn(native, f" COLLATE {_composed_name(schema)}.{_composed_name(name)}", by_bytes)


def quoted(table: TableId) -> str:
    return f"{_composed_name(table.schema)}.{_composed_name(table.table)}"


def _composed_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
