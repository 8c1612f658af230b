"""State as a Spark DataFrame, with Arrow types that Spark supports.

Everything goes through the user's session: nothing here imports Spark.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from millrace.checkpoint.classes import Classes
from millrace.checkpoint.columns import children
from millrace.state.open_savepoint import Opened, Piece
from millrace.state.state_columns import (
    PLAIN,
    Shape,
    added,
    arrays_of,
    columns_of,
    described_columns,
    fields_of,
    shapes_of,
    stored_name,
)
from millrace.util.by_value import pickled_by_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Types

_SIMPLER = {
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.time64("us"): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.decimal128(20, 0): "DECIMAL(20, 0)",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
}


def spark_type(type: Any) -> Any:
    """The nearest type that Spark has: times of day become text, unsigned numbers wider ones."""
    if types.is_struct(type):
        return pa.struct([field.with_type(spark_type(field.type)) for field in type.fields])
    if types.is_large_list(type):
        return pa.list_(spark_type(type.value_type))
    if types.is_map(type):
        return pa.map_(spark_type(type.key_type), spark_type(type.item_type))
    return _SIMPLER.get(type, type)


def ddl_of(schema: Any) -> str:
    """The DDL text of a schema of types that ``spark_type`` returned."""
    return ", ".join(f"{_quoted(field.name)} {type_name(field.type)}" for field in schema)


def type_name(type: Any) -> str:
    """The Spark name of a type that ``spark_type`` returned."""
    if types.is_struct(type):
        return f"STRUCT<{', '.join(f'{_quoted(field.name)}: {type_name(field.type)}' for field in type.fields)}>"
    if types.is_list(type):
        return f"ARRAY<{type_name(type.value_type)}>"
    if types.is_map(type):
        return f"MAP<{type_name(type.key_type)}, {type_name(type.item_type)}>"
    return _NAMES[type]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


# Frames

BATCH_ROWS = 10_000
"""number of rows that a Python worker sends to the JVM at once"""
_DIRECT = frozenset(PLAIN) - {"time", "timedelta"} | {"none"}
"""forms whose columns are shown as they are stored in the files"""
_SAME_SCHEMES = frozenset({"abfs", "abfss", "gs", "hdfs", "s3a", "viewfs"})
"""schemes of file systems that Spark has under the same name"""


def frame_of(session: SparkSession, opened: Opened, pieces: Sequence[Piece]) -> DataFrame:
    """The rows of some pieces as a DataFrame."""
    shapes = shapes_of(pieces)
    if not pieces or any(piece.file is None for piece in pieces):
        tables = (table_of(piece, shapes, opened.known) for piece in pieces)
        table = pa.concat_tables([_schema(shapes).empty_table(), *tables])
        return session.createDataFrame(table)
    paths = _paths(opened)
    if paths is not None and all(_is_direct(piece, dict(shapes)) for piece in pieces):
        return _read_by_spark(session, paths, pieces, _schema(shapes))
    return _read_by_workers(session, pieces, shapes, opened.known)


def table_of(piece: Piece, shapes: Sequence[tuple[str, Shape]], known: Classes) -> Any:
    """The rows of a piece as a table with types that Spark supports."""
    rows = piece.load()
    columns = columns_of(piece, rows)
    arrays = arrays_of([(columns.get(name), shape) for name, shape in shapes], len(rows), known)
    return pa.table(arrays, pa.schema(fields_of(shapes))).cast(_schema(shapes))


def _schema(shapes: Sequence[tuple[str, Shape]]) -> Any:
    return pa.schema([field.with_type(spark_type(field.type)) for field in fields_of(shapes)])


# -- by Spark's own reader --------------------------------------------------------------------------------------------


def _paths(opened: Opened) -> str | None:
    """The path by which Spark can read the savepoint; None if it can't, or must not."""
    uri = opened.uri
    if re.search(r"[*?\[\]{}\\]", uri):
        return None  # it would look for files that match
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return f"file://{uri}"
    return uri if scheme in _SAME_SCHEMES else None


def _is_direct(piece: Piece, shapes: dict[str, Shape]) -> bool:
    """Whether the columns of the file are shown as they are stored."""
    in_shape = all(shapes[name] == shape for name, shape in shapes_of([piece]))
    return in_shape and piece.is_stored_as_shown and all(map(_is_shown_as_stored, described_columns(piece).values()))


def _is_shown_as_stored(described: dict[str, Any]) -> bool:
    if described["form"] == "numpy":
        return not described["dtype"].startswith("uint")
    parts = children(described)
    return all(map(_is_shown_as_stored, parts)) if parts else described["form"] in _DIRECT


def _read_by_spark(session: SparkSession, folder: str, pieces: Sequence[Piece], schema: Any) -> DataFrame:
    # One query for all files with one schema; constants, such as the subtask, are not in the files.
    groups: dict[str, list[Piece]] = {}
    for piece in pieces:
        same = json.dumps([described_columns(piece), added(piece)], sort_keys=True)
        groups.setdefault(same, []).append(piece)
    frames = [_group(session, folder, group, schema) for group in groups.values()]
    whole, *others = frames
    for frame in others:
        whole = whole.unionByName(frame)
    return whole


def _group(session: SparkSession, folder: str, pieces: Sequence[Piece], schema: Any) -> DataFrame:
    paths = [f"{folder}/{piece.file.path}" for piece in pieces if piece.file is not None]
    columns = [f"{_expression(pieces[0], field)} AS `{field.name}`" for field in schema]
    return session.read.parquet(*paths).selectExpr(*columns)


def _expression(piece: Piece, field: Any) -> str:
    if field.name in described_columns(piece):
        return f"`{stored_name(field.name)}`"
    value, _ = added(piece).get(field.name, (None, None))
    return f"CAST({'NULL' if value is None else repr(value)} AS {type_name(field.type)})"


# -- by Python workers ------------------------------------------------------------------------------------------------


def _read_by_workers(
    session: SparkSession, pieces: Sequence[Piece], shapes: Sequence[tuple[str, Shape]], known: Classes
) -> DataFrame:
    work = [(number, bytearray(pickled_by_value(piece))) for number, piece in enumerate(pieces)]
    frame = session.createDataFrame(work, "number INT, piece BINARY")
    read = _ReadPieces(pickled_by_value((list(shapes), dict(known))))
    return frame.repartitionById(len(work), "number").mapInArrow(read, ddl_of(_schema(shapes)))


class _ReadPieces:
    """The function for ``mapInArrow`` that turns pieces into their rows."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        shapes, known = pickle.loads(self._payload)
        for batch in batches:
            for stored in batch.column("piece").to_pylist():
                yield from table_of(pickle.loads(stored), shapes, known).to_batches(BATCH_ROWS)
