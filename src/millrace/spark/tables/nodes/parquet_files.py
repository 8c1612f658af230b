"""Tables of Parquet files that Spark reads itself: it then knows how large they are, and reads less for a filter.

Only where its rows are the ones that our own reader gives: files on local paths, whose columns have exactly the types
that the table says, in encodings that both know. Everything else (partitions, metadata, other types, object stores) is
for our own reader, errors too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import types as s

from millrace.connectors.tables.filesystem.formats.parquet import ParquetTableFormat
from millrace.connectors.tables.filesystem.source import FileSystemSource
from millrace.formats.parquet_pages import is_modest
from millrace.relational.arrow import arrow_type
from millrace.relational.nodes import Field
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.texts.literals import string_text
from millrace.spark.tables.texts.types import ddl, quoted, spark_type

MOST_FILES = 256
"""whose heads the driver reads before the query begins"""
_PLAIN_PATH = re.compile(r"/[\w/.=+@ -]*")
"""Spark would take other characters for patterns."""
_CODECS = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"})
_ENCODINGS = frozenset(
    {
        "PLAIN",
        "PLAIN_DICTIONARY",
        "RLE",
        "RLE_DICTIONARY",
        "BIT_PACKED",
        "DELTA_BINARY_PACKED",
        "DELTA_BYTE_ARRAY",
        "DELTA_LENGTH_BYTE_ARRAY",
    }
)
_KINDS = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date32,
)
"""types whose values mean the same to both; of times there are several forms"""


def parquet_rows(source: Any, columns: Sequence[int], filters: Sequence[Rex], context: Context) -> Part | None:
    """These columns of a table as c0, c1, ...; None: our own reader is to read it."""
    if not isinstance(source, FileSystemSource) or not isinstance(source.format, ParquetTableFormat):
        return None
    wanted = source.layout.wanted(columns)
    if any(place != "file" for place, _, _ in wanted.parts):
        return None
    if not all(map(_is_plain, wanted.in_files)):
        return None
    found = source.files(filters).files((source.path,), by_time=False)
    if not 0 < len(found) <= MOST_FILES or any(file.root or not _PLAIN_PATH.fullmatch(file.path) for file in found):
        return None
    heads = list(map(_head, (file.path for file in found)))
    # All columns, not only those that are read: Spark guesses by them how large a row is, and a query that reads a
    # table several times has one view of it.
    alike = [
        column
        for column in source.layout.in_files
        if _is_plain(column) and all(head is not None and _is_alike(head, column) for head in heads)
    ]
    if not set(wanted.in_files) <= set(alike):
        return None
    names = tuple(column.name for column in wanted.in_files)
    if not all(_is_modest(file.path, file.size, os.stat(file.path).st_mtime_ns, names) for file in found):
        return None
    certain = _certain_texts(source.layout.names, filters)
    schema = s.StructType([s.StructField(field.name, spark_type(field.type)) for field in alike])
    files = tuple(f"file://{file.path}" for file in found)
    key = files, schema.json()
    known = context.read_files.get(key)
    if known is None:
        known = context.read_files[key] = _read(files, schema, context.session)
    texts = {column.name for column in wanted.in_files if pa.types.is_string(arrow_type(column.type))} - certain
    return known.select(numbered(_checked(name, name in texts) for _, name, _ in wanted.parts))


def _checked(name: str, is_text: bool) -> str:
    """Spark takes any bytes for a text; our own reader, and Arrow behind Spark, only UTF-8."""
    return f"validate_utf8({quoted(name)})" if is_text else quoted(name)


def _certain_texts(names: Sequence[str], filters: Sequence[Rex]) -> set[str]:
    """Columns of which only rows are read that are equal to a constant, so that their texts are right. Spark compares
    them in the file, which it could not do behind a function."""
    found = set()
    for each in filters:
        if isinstance(each, Call) and each.function in ("=", "IN"):
            columns = [arg for arg in each.args if not isinstance(arg, Literal)]
            found |= {names[arg.index] for arg in columns if len(columns) == 1 and isinstance(arg, Ref)}
    return found


def _is_modest(path: str, size: int, written: int, names: tuple[str, ...]) -> bool:
    """Spark's JVM would end where a page is larger than its heap; our own reader says which it is."""
    known = _modest_columns(path, size, written)
    new = tuple(name for name in names or ("",) if name not in known)
    if new and is_modest(path, names and new):
        known.update(dict.fromkeys(new, True))
    elif new:
        known.update((name, len(new) > 1 and is_modest(path, (name,))) for name in new)
    return all(known[name] for name in names or ("",))


@lru_cache(1024)
def _modest_columns(path: str, size: int, written: int) -> dict[str, bool]:
    """What is known of the columns of a file: queries over some of them look at the others' pages only once."""
    return {}


def _read(files: Sequence[str], schema: s.StructType, session: SparkSession) -> Part:
    """Columns of files by their names."""
    if len(files) > 1 or not schema.fields:
        return Part.of_frame(session.read.schema(schema).parquet(*files))
    columns = ", ".join(f"{quoted(field.name)} {ddl(field.dataType)}" for field in schema.fields)
    source = f"USING parquet OPTIONS (path {string_text(files[0])})"
    return Part.of_view(session, lambda name: f"CREATE TEMPORARY VIEW {name} ({columns}) {source}")


def _is_plain(column: Field) -> bool:
    return any(is_kind(arrow_type(column.type)) for is_kind in _KINDS)


@dataclass(frozen=True)
class _Head:
    """What a file says of its columns."""

    schema: pa.Schema
    forms: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    """path of a leaf -> its codecs, its encodings, in all row groups"""


def _head(path: str) -> _Head | None:
    """None: it is no file that can be read."""
    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except (pa.ArrowException, OSError):
        return None
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    forms = {}
    for at in range(metadata.num_columns):
        chunks = [group.column(at) for group in groups]
        codecs = frozenset(chunk.compression for chunk in chunks)
        forms[metadata.schema.column(at).path] = codecs, frozenset(each for chunk in chunks for each in chunk.encodings)
    return _Head(schema, forms)


def _is_alike(head: _Head, column: Field) -> bool:
    """Whether a file has a column as it is in the table, in a form that both readers know."""
    places = head.schema.get_all_field_indices(column.name)
    if len(places) != 1 or head.schema.field(places[0]).type != arrow_type(column.type):
        return False
    codecs, encodings = head.forms.get(column.name, (frozenset(), frozenset()))
    return codecs <= _CODECS and encodings <= _ENCODINGS
