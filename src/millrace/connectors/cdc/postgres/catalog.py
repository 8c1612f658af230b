"""What PostgreSQL says about the tables that are captured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.postgres.settings import PostgresSettings
from millrace.connectors.cdc.schema import Column, TableId, TableSchema
from millrace.connectors.jdbc.metadata.postgresql import type_of

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
    return type_of(native).not_null() if required else type_of(native)


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
    return KeyColumn(native, f" COLLATE {_name(schema)}.{_name(name)}", by_bytes)


def quoted(table: TableId) -> str:
    return f"{_name(table.schema)}.{_name(table.table)}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
