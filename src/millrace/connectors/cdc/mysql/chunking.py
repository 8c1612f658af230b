"""Chunks of tables: where they end, which rows they have, and which of them a value lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.connectors.cdc.chunks import Bounds, Chunk
from millrace.connectors.cdc.mysql.natives import base
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.jdbc.metadata.base import asked

_PLAIN = frozenset(
    ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "datetime", "timestamp", "year")
)
_TEXTS = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "uuid", "inet4", "inet6"))
_AT_ONCE = 500
"""comparisons of one statement"""


def name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def table_name(table: TableId) -> str:
    return f"{name(table.schema)}.{name(table.table)}"


def is_ordered_here(native: str) -> bool:
    """Whether Python orders values as the server does."""
    return base(native) in _PLAIN or base(native) in ("binary", "varbinary")


def can_be_cut(native: str) -> bool:
    """Whether ranges of a column can be told by comparing values. An ENUM compares as text and sorts as number."""
    return is_ordered_here(native) or base(native) in _TEXTS


def bounds(connection: Any, table: TableId, schema: TableSchema, column: str) -> Bounds:
    """Those without values mean that the table is one chunk."""
    rows = asked(
        connection,
        "SELECT table_rows FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        table.schema,
        table.table,
    )
    number = int(rows[0][0] or 0) if rows else 0
    native = schema.columns[schema.names.index(column)].native
    if not can_be_cut(native):
        return Bounds(None, None, number)
    least, greatest = asked(connection, f"SELECT MIN({name(column)}), MAX({name(column)}) FROM {table_name(table)}")[0]
    if is_ordered_here(native) and any(isinstance(each, str) for each in (least, greatest)):
        return Bounds(None, None, number)  # dates that are none
    return Bounds(least, greatest, number)


def next_bound(connection: Any, table: TableId, column: str, start: Any, greatest: Any, rows: int) -> Any | None:
    """Where a chunk of so many rows ends, None: nowhere."""
    wanted, values = [f"{name(column)} <= %s"], [greatest]
    if start is not None:
        wanted.append(f"{name(column)} > %s")
        values.append(start)
    query = (
        f"SELECT {name(column)} FROM {table_name(table)} WHERE {' AND '.join(wanted)} "
        f"ORDER BY {name(column)} LIMIT 1 OFFSET {rows - 1 if start is not None else rows}"
    )
    found = asked(connection, query, *values)
    if not found:
        return None
    if start is None:
        # The first chunk would be empty if all of its rows have the value at which it ends.
        first = asked(connection, f"SELECT MIN({name(column)}) < %s FROM {table_name(table)}", found[0][0])
        if not first[0][0]:
            return next_bound(connection, table, column, found[0][0], greatest, 1)
    return found[0][0]


def selected(schema: TableSchema) -> str:
    """The columns of a table in a SELECT, so that values are as exact as in the log."""
    return ", ".join(
        # Servers write a FLOAT with six digits. Where 0 were added to it, -0.0 would lose its sign.
        f"({name(column.name)} * 1e0)" if base(column.native) == "float" else name(column.name)
        for column in schema.columns
    )


def rows_of(connection: Any, chunk: Chunk, schema: TableSchema) -> list[tuple[Any, ...]]:
    """The rows of a chunk."""
    wanted, values = [], []
    if chunk.column is not None and chunk.start is not None:
        wanted.append(f"{name(chunk.column)} >= %s")
        values.append(chunk.start)
    if chunk.column is not None and chunk.end is not None:
        below = f"{name(chunk.column)} < %s"
        wanted.append(below if chunk.start is not None else f"({below} OR {name(chunk.column)} IS NULL)")
        values.append(chunk.end)
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    return asked(connection, f"SELECT {selected(schema)} FROM {table_name(chunk.table)}{where}", *values)


def locate(
    connection: Any, native: str, collation: str | None, bounds: Sequence[Any], values: Sequence[Any]
) -> list[int]:
    """How many bounds are at most each value, as the server compares them: by halving, all values at a time."""
    form = f"CAST(%s AS {base(native)})" if collation is None else f"CONVERT(%s USING utf8mb4) COLLATE {collation}"
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
            for (place, middle), is_behind in zip(some, asked(connection, query, *pairs)[0]):
                if is_behind:
                    low[place] = middle + 1
                else:
                    high[place] = middle
    found = dict(zip(known, low))
    return [0 if value is None else found[value] for value in values]
