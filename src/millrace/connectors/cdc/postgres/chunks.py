"""Chunks of a table of PostgreSQL: where they end, and their rows with the snapshot that they are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

from millrace.connectors.cdc.changes import ChunkRows, Relation
from millrace.connectors.cdc.chunks import Bounds, Chunk
from millrace.connectors.cdc.postgres import catalog
from millrace.connectors.cdc.postgres.catalog import KeyColumn, quoted
from millrace.connectors.cdc.postgres.connecting import sql
from millrace.connectors.cdc.postgres.positions import SnapshotSeen
from millrace.connectors.cdc.schema import TableId, TableSchema

_WHOLE = ("smallint", "integer", "bigint")
_SNAPSHOT = "SELECT pg_current_snapshot()::text, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
_BLOCK = 8 << 20


def key_value(text: str | None, native: str) -> Any:
    """A value of a key column as chunks have it: a number if it is a whole one, else its text."""
    return int(text) if text is not None and native in _WHOLE else text


def bounds_of(connection: Any, table: TableId, column: str) -> Bounds:
    key = catalog.key_column(connection, table, column)
    name, whole = _name(column), quoted(table)
    plan = connection.execute(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {whole}").fetchone()[0]
    rows = int((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]["Plan Rows"])
    query = f"SELECT (SELECT {name}::text FROM {whole} WHERE {name} IS NOT NULL ORDER BY {name} {{}} LIMIT 1)"
    least, greatest = (connection.execute(query.format(way)).fetchone()[0] for way in ("ASC", "DESC"))
    return Bounds(key_value(least, key.native), key_value(greatest, key.native), rows)


def next_bound(connection: Any, table: TableId, column: str, start: Any, greatest: Any, rows: int) -> Any | None:
    key = catalog.key_column(connection, table, column)
    name, whole = _name(column), quoted(table)
    up_to = f"{name} <= {_literal(greatest, key)}"
    behind = up_to if start is None else f"{name} >= {_literal(start, key)} AND {up_to}"
    query = f"SELECT {name}::text FROM {whole} WHERE {behind} ORDER BY {name} OFFSET {rows} LIMIT 1"
    found = connection.execute(query).fetchone()
    if found is None:
        return None
    if start is not None and found[0] == str(start):  # one value fills the chunk
        behind = f"{name} > {_literal(start, key)} AND {up_to}"
        query = f"SELECT {name}::text FROM {whole} WHERE {behind} ORDER BY {name} LIMIT 1"
        found = connection.execute(query).fetchone()
        if found is None:
            return None
    return key_value(found[0], key.native)


def read_chunk(connection: Any, chunk: Chunk) -> ChunkRows:
    """The rows of a chunk, in one snapshot. :raises LookupError: the table is gone."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot, high = connection.execute(_SNAPSHOT).fetchone()
        oid = catalog.table_oid(connection, chunk.table)
        if oid is None:
            raise LookupError(f"table {chunk.table} is gone: it was dropped or renamed while it was read")
        schema = catalog.schema_of(connection, oid)
        columns = _copied(connection, _query(connection, chunk, oid, schema), schema)
    seen = SnapshotSeen.of(snapshot, high)
    return ChunkRows(Relation(chunk.table, schema), columns, len(columns[0]) if columns else 0, seen)


def _query(connection: Any, chunk: Chunk, oid: int, schema: TableSchema) -> str:
    where = ""
    if chunk.column is not None and (chunk.start is not None or chunk.end is not None):
        key, name = catalog.key_column(connection, chunk.table, chunk.column), _name(chunk.column)
        parts = []
        if chunk.start is not None:
            parts.append(f"{name} >= {_literal(chunk.start, key)}")
        if chunk.end is not None:
            before = f"{name} < {_literal(chunk.end, key)}"
            parts.append(before if chunk.start is not None else f"({before} OR {name} IS NULL)")
        where = f" WHERE {' AND '.join(parts)}"
    kind = connection.execute("SELECT relkind FROM pg_class WHERE oid = %s", [oid]).fetchone()[0]
    wanted = ", ".join(_name(column.name) for column in schema.columns)
    return f"SELECT {wanted} FROM {'ONLY ' if kind == 'r' else ''}{quoted(chunk.table)}{where}"


def _copied(connection: Any, query: str, schema: TableSchema) -> list[pa.Array]:
    """The rows of a query as texts, the way that the log has them."""
    sink = pa.BufferOutputStream()
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
        for data in copy:
            sink.write(data)
    names = [f"c{place}" for place in range(len(schema.columns))]
    content = sink.getvalue()
    if not names or not content.size:
        return [pa.array([], pa.string()) for _ in names]
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, use_threads=False, block_size=max(_BLOCK, content.size)
        ),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    ).combine_chunks()
    return [column.chunk(0) if column.num_chunks else pa.array([], pa.string()) for column in table.columns]


def located(connection: Any, key: KeyColumn, bounds: Sequence[Any], texts: Sequence[str | None]) -> list[int]:
    """For values how many of some bounds are at most each, as the database compares them."""
    query = (
        f"SELECT (SELECT count(*) FROM unnest(%s::text[]) AS b(bound) WHERE CAST(b.bound AS "
        f"{key.native}){key.collation} <= CAST(v.value AS {key.native}){key.collation}) "
        f"FROM unnest(%s::text[]) WITH ORDINALITY AS v(value, place) ORDER BY v.place"
    )
    found = connection.execute(query, [[str(bound) for bound in bounds], list(texts)])
    return [count for (count,) in found.fetchall()]


def _literal(value: Any, key: KeyColumn) -> str:
    text = sql().Literal(str(value)).as_string(None)
    return f"CAST({text} AS {key.native})"


def _name(name: str) -> str:
    return str(sql().Identifier(name).as_string(None))
