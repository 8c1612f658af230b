"""Chunks of a table of PostgreSQL: where they end, their rows, and the snapshot that the rows are of.

Rows come by COPY as texts, the way the log has them; ``typed_column`` makes an Arrow column of such texts.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from millrace.connectors.cdc.changes import UNCHANGED, Bounds, Chunk, ChunkRows, Relation
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.cdc.postgres import postgres_catalog
from millrace.connectors.cdc.postgres.postgres_catalog import KeyColumn, psycopg_sql, quoted
from millrace.connectors.cdc.postgres.replication_slot import SnapshotSeen
from millrace.connectors.jdbc.driver_values import FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT
from millrace.relational import types as t
from millrace.relational.precision import canonical, decimals_of_texts, fit
from millrace.relational.type_table import Family, arrow_type, family_of
from millrace.relational.types import DataType

_WHOLE = ("smallint", "integer", "bigint")
_SNAPSHOT = "SELECT pg_current_snapshot()::text, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
_BLOCK = 8 << 20


def key_value(text: str | None, native: str) -> Any:
    """A value of a key column as chunks have it: a number if it is a whole one, else its text."""
    return int(text) if text is not None and native in _WHOLE else text


def column_bounds(connection: Any, table: TableId, column: str) -> Bounds:
    key = postgres_catalog.key_column(connection, table, column)
    name, whole = _chunk_column(column), quoted(table)
    plan = connection.execute(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {whole}").fetchone()[0]
    rows = int((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]["Plan Rows"])
    query = f"SELECT (SELECT {name}::text FROM {whole} WHERE {name} IS NOT NULL ORDER BY {name} {{}} LIMIT 1)"
    least, greatest = (connection.execute(query.format(way)).fetchone()[0] for way in ("ASC", "DESC"))
    return Bounds(key_value(least, key.native), key_value(greatest, key.native), rows)


def next_bound(connection: Any, table: TableId, column: str, start: Any, greatest: Any, rows: int) -> Any | None:
    key = postgres_catalog.key_column(connection, table, column)
    name, whole = _chunk_column(column), quoted(table)
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
        oid = postgres_catalog.table_oid(connection, chunk.table)
        if oid is None:
            raise LookupError(f"table {chunk.table} is gone: it was dropped or renamed while it was read")
        schema = postgres_catalog.schema_of(connection, oid)
        columns = _copied(connection, _query(connection, chunk, oid, schema), schema)
    seen = SnapshotSeen.of(snapshot, high)
    return ChunkRows(Relation(chunk.table, schema), columns, len(columns[0]) if columns else 0, seen)


def _query(connection: Any, chunk: Chunk, oid: int, schema: TableSchema) -> str:
    where = ""
    if chunk.column is not None and (chunk.start is not None or chunk.end is not None):
        key, name = postgres_catalog.key_column(connection, chunk.table, chunk.column), _chunk_column(chunk.column)
        parts = []
        if chunk.start is not None:
            parts.append(f"{name} >= {_literal(chunk.start, key)}")
        if chunk.end is not None:
            before = f"{name} < {_literal(chunk.end, key)}"
            parts.append(before if chunk.start is not None else f"({before} OR {name} IS NULL)")
        where = f" WHERE {' AND '.join(parts)}"
    kind = connection.execute("SELECT relkind FROM pg_class WHERE oid = %s", [oid]).fetchone()[0]
    wanted = ", ".join(_chunk_column(column.name) for column in schema.columns)
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


def locate_values(connection: Any, key: KeyColumn, bounds: Sequence[Any], texts: Sequence[str | None]) -> list[int]:
    """For values how many of some bounds are at most each, as the database compares them."""
    query = (
        f"SELECT (SELECT count(*) FROM unnest(%s::text[]) AS b(bound) WHERE CAST(b.bound AS "
        f"{key.native}){key.collation} <= CAST(v.value AS {key.native}){key.collation}) "
        f"FROM unnest(%s::text[]) WITH ORDINALITY AS v(value, place) ORDER BY v.place"
    )
    found = connection.execute(query, [[str(bound) for bound in bounds], list(texts)])
    return [count for (count,) in found.fetchall()]


def _literal(value: Any, key: KeyColumn) -> str:
    text = psycopg_sql().Literal(str(value)).as_string(None)
    return f"CAST({text} AS {key.native})"


def _chunk_column(name: str) -> str:
    return str(psycopg_sql().Identifier(name).as_string(None))


FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
    }
)  # fmt: skip


def typed_column(values: Sequence[Any] | pa.Array, kind: DataType, where: str) -> pa.Array:
    """pa.Array, NULLs and ``UNCHANGED`` as a column.

    :raises ValueError: a text is no value of the type, or the log does not have one.
    """
    texts = values if isinstance(values, pa.Array) else _texts(values, where)
    try:
        return _convert(texts, kind)
    except (ValueError, ArithmeticError, TypeError) as error:
        raise _first_wrong(texts, kind, where, error) from None


def _texts(values: Sequence[Any], where: str) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (TypeError, pa.ArrowException):
        if any(value is UNCHANGED for value in values):
            raise ValueError(
                f"{where}: the log does not have the value, which is stored apart (TOAST) and did not change when its "
                f"row was updated. ALTER TABLE ... REPLICA IDENTITY FULL lets the log have it from then on; tables of "
                f"Millrace without this column do not need it"
            ) from None
        raise


def _first_wrong(texts: pa.Array, kind: DataType, where: str, error: Exception) -> ValueError:
    for place in range(len(texts)):
        try:
            _convert(texts.slice(place, 1), kind)
        except (ValueError, ArithmeticError, TypeError) as cause:
            return ValueError(f"{where} has {str(texts[place].as_py())[:100]!r}, which is no {kind}: {cause}")
    return ValueError(f"{where}: {error}")


def _convert(texts: pa.Array, kind: DataType) -> pa.Array:
    convert = _BY_FAMILY.get(family_of(kind))
    if convert is None:
        raise ValueError(f"PostgreSQL has no columns of type {kind}")
    return canonical(convert(texts, kind), kind)


def _booleans(texts: pa.Array, kind: DataType) -> pa.Array:
    found = pc.index_in(texts, value_set=pa.array(["f", "t", "false", "true", "0", "1"]))
    if found.null_count != texts.null_count:
        raise ValueError("neither t nor f")
    return pc.equal(pc.bit_wise_and(found, 1), 1)


def _cast(texts: pa.Array, kind: DataType) -> pa.Array:
    return texts.cast(arrow_type(kind))


def _dates(texts: pa.Array, kind: DataType) -> pa.Array:
    """Infinite times are the first and the last one that Python has."""
    first, last = (FIRST_DAY, LAST_DAY) if isinstance(kind, t.DateType) else (FIRST_MOMENT, LAST_MOMENT)
    zone = "+00" if family_of(kind) is Family.INSTANT else ""
    is_last, is_first = (pc.fill_null(pc.equal(texts, each), False) for each in ("infinity", "-infinity"))
    return _cast(pc.case_when(pc.make_struct(is_last, is_first), f"{last}{zone}", f"{first}{zone}", texts), kind)


def _decimals(texts: pa.Array, kind: DataType) -> pa.Array:
    assert isinstance(kind, t.DecimalType)
    wanted = arrow_type(kind)
    try:
        return decimals_of_texts(texts, kind)
    except pa.ArrowInvalid:  # more digits than there is room for, or none at all
        precision, scale = kind.precision, kind.scale

        def one(text: str | None) -> Decimal | None:
            if text is None:
                return None
            found = fit(Decimal(text), precision, scale)
            if found is None:
                raise ValueError("too large")
            return found

        try:
            return pa.array(list(map(one, texts.to_pylist())), wanted)
        except InvalidOperation:
            raise ValueError("no number") from None


def _strings(texts: pa.Array, kind: DataType) -> pa.Array:
    return pc.utf8_rpad(texts, kind.length) if isinstance(kind, t.CharType) else texts


def _bytes(texts: pa.Array, kind: DataType) -> pa.Array:
    def one(text: str | None) -> bytes | None:
        if text is None:
            return None
        if not text.startswith("\\x"):
            return text.encode()
        return bytes.fromhex(text[2:])

    return pa.array(list(map(one, texts.to_pylist())), pa.binary())


def _times(texts: pa.Array, kind: DataType) -> pa.Array:
    def one(text: str | None) -> dt.time | None:
        return None if text is None else dt.time.fromisoformat(_six_digits(text))

    return pa.array(list(map(one, texts.to_pylist())), pa.time64("us")).cast(arrow_type(kind))


def _six_digits(text: str) -> str:
    """Older versions of Python read 3 or 6 digits of a second, no others."""
    if "." not in text:
        return text
    whole, _, digits = text.partition(".")
    return f"{whole}.{digits:0<6}"


def _arrays(texts: pa.Array, kind: DataType) -> pa.Array:
    assert isinstance(kind, t.ArrayType)
    elements: list[str | None] = []
    offsets: list[int | None] = []
    for text in texts.to_pylist():
        offsets.append(None if text is None else len(elements))
        if text is not None:
            elements += array_elements(text)
    inner = _convert(pa.array(elements, pa.string()), kind.element_type)
    found = pa.ListArray.from_arrays(pa.array([*offsets, len(elements)], pa.int32()), inner)
    return found.cast(arrow_type(kind))


def array_elements(text: str) -> list[str | None]:
    """The elements of an array's text form, texts again: ``{1,"a b",NULL,{2}}``."""
    if text.startswith("["):  # bounds other than from 1 on
        text = text.partition("=")[2]
    return list(_elements(text))


def _elements(text: str) -> Iterator[str | None]:
    place, end = 1, len(text) - 1
    while place < end:
        if text[place] == '"':
            found = []
            place += 1
            while text[place] != '"':
                place += text[place] == "\\"
                found.append(text[place])
                place += 1
            yield "".join(found)
            place += 2
            continue
        begin, depth, quoted = place, 0, False
        while place < end and (text[place] != "," or depth or quoted):
            each = text[place]
            if each == "\\" and quoted:
                place += 1
            elif each == '"':
                quoted = not quoted
            elif not quoted:
                depth += (each == "{") - (each == "}")
            place += 1
        found_text = text[begin:place]
        yield None if found_text == "NULL" else found_text
        place += 1


_BY_FAMILY: dict[Family, Callable[[pa.Array, DataType], pa.Array]] = {
    Family.BOOLEAN: _booleans,
    Family.INTEGER: _cast,
    Family.APPROXIMATE: _cast,
    Family.DECIMAL: _decimals,
    Family.TEXT: _strings,
    Family.BYTES: _bytes,
    Family.DATE: _dates,
    Family.TIME: _times,
    Family.TIMESTAMP: _dates,
    Family.INSTANT: _dates,
    Family.ARRAY: _arrays,
}
