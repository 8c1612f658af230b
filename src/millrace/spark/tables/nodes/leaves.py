"""The leaves of plans: values of the query, tables of connectors, DataStreams, and Parquet files that Spark reads
itself.

A FLIP-27 source is read on the executors: the driver finds its splits and deals them out once. Spark reads Parquet
files itself because it then knows how large they are, and reads less for a filter; but only where its rows are the ones
that Millrace's reader gives: files on local paths, whose columns have exactly the types that the table says, in
encodings that both know. Everything else (partitions, metadata, other types, object stores, errors) is read by
Millrace's reader.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from millrace.common.source import InputStatus, ReaderOutput, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.file_system.table.bulk_formats import ParquetTableFormat
from millrace.connectors.file_system.table.filesystem_source import FileSystemSource
from millrace.formats.parquet_pages import is_modest
from millrace.relational import nodes as n
from millrace.relational.nodes import Field
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type, schema_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.runtime.bases.runtime_context import Measures
from millrace.runtime.clocks import now_millis
from millrace.spark.tables.nodes.forms import batch_form, unreadable
from millrace.spark.tables.steps.computed import cut_times, typed, types_of
from millrace.spark.tables.steps.context import Context, Reporting
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import ddl, outgoing, quoted, spark_schema, spark_type
from millrace.spark.tables.steps.sql_text import string_text
from millrace.util.skipped import SKIPPED_METRIC, counting_skipped

# Parquet files

MOST_FILES = 256
"""The most Parquet files whose footers the driver reads before the query begins; tables of more files are read by
Millrace's reader."""
_PLAIN_PATH = re.compile(r"/[\w/.=+@ -]*")
"""Paths without characters that Spark would take for patterns."""
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
"""types whose values mean the same to Spark and to Millrace's reader; times are left out since they have several forms
"""


def parquet_rows(source: Any, columns: Sequence[int], filters: Sequence[Rex], context: Context) -> Part | None:
    """Let Spark read these columns of a Parquet table, as c0, c1, ...; None: Millrace's own reader has to read the
    table.

    :param columns: positions of the columns in the table's schema.
    :param filters: conditions that the rows will be filtered by; files and texts are chosen by them.
    """
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
    """The schema and the encodings of a Parquet file, from its footer."""

    schema: pa.Schema
    forms: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    """path of a leaf -> its codecs, its encodings, in all row groups"""


def _head(path: str) -> _Head | None:
    """Read the footer of a Parquet file; None: the file cannot be read as Parquet."""
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


# FLIP-27 sources

WAIT_SECONDS = 0.005


def read_source(source: Source[Rows, Any], types: Sequence[DataType], name: str, context: Context) -> Part:
    """The rows of a bounded source, with columns c0, c1, ...

    :param name: of the table, for errors.
    """
    splits = _splits(source, context.parallelism) if context.reads else []
    width = max(len(splits), 1)
    reporting = None if context.metrics is None else context.metrics.node(f"Source: {name}")
    task = ReadTask(source.for_readers(), tuple(tuple(each) for each in splits), name, reporting)
    tasks = context.session.range(0, width, 1, width)
    ship = partial(context.ship, what=f"the source of table {name}")
    return Part.of_frame(tasks).in_python(task, spark_schema(types), ship)


@dataclass
class _Enumeration(SplitEnumeratorContext[Any]):
    parallelism: int
    assigned: dict[int, list[Any]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def current_parallelism(self) -> int:
        return self.parallelism

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self.assigned.setdefault(subtask_id, []).append(split)

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.ended.add(subtask_id)

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000


def _splits(source: Source[Rows, Any], parallelism: int) -> list[list[Any]]:
    """All splits, as they are dealt out to that many readers; readers without any are left out."""
    found = _Enumeration(parallelism)
    enumerator = source.create_enumerator(found)
    try:
        enumerator.start()
        before = -1
        while (count := sum(map(len, found.assigned.values()))) > before:
            before = count
            for subtask in range(parallelism):
                if subtask not in found.ended:
                    enumerator.handle_split_request(subtask)
    finally:
        enumerator.close()
    return [found.assigned[subtask] for subtask in sorted(found.assigned)]


class _ReaderContext(SourceReaderContext):
    def __init__(self, subtask: int, parallelism: int) -> None:
        self._subtask = subtask
        self._parallelism = parallelism

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def current_parallelism(self) -> int:
        return self._parallelism

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000


class _Output(ReaderOutput[Rows]):
    """The output of a reader: collects the rows of a poll. Times and watermarks do not matter in batch mode."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []

    def collect(self, record: Rows, timestamp: int | None = None) -> None:
        self.rows.append(record)

    def collect_batch(self, records: list[Rows], timestamps: list[int] | None = None) -> None:
        self.rows += records

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...


@dataclass(frozen=True)
class ReadTask:
    """Reads the splits of each subtask whose number comes in."""

    source: Source[Rows, Any]
    splits: tuple[tuple[Any, ...], ...]
    name: str
    reporting: Reporting | None = None
    """reports records that could not be read and were skipped; None: they are not reported"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for subtask in batch.column(0).to_pylist():
                if subtask < len(self.splits):
                    yield from self._read(subtask)

    def _read(self, subtask: int) -> Iterator[pa.RecordBatch]:
        reader = self.source.create_reader(_ReaderContext(subtask, len(self.splits)))
        output = _Output()
        left_out = 0
        try:
            reader.start()
            reader.add_splits(list(self.splits[subtask]))
            reader.notify_no_more_splits()
            status = InputStatus.MORE_AVAILABLE
            while status is not InputStatus.END_OF_INPUT:
                with counting_skipped() as skipped:
                    status = reader.poll_next(output)
                left_out += skipped.number
                if status is InputStatus.NOTHING_AVAILABLE and not output.rows:
                    time.sleep(WAIT_SECONDS)
                for rows in output.rows:
                    if rows.kinds is not None and rows.kinds.any():
                        raise ValueError(f"table {self.name} has updates or deletions, which batch mode cannot read")
                    yield outgoing(rows.batch)
                output.rows = []
        finally:
            reader.close()
        if left_out and self.reporting is not None:
            measures = Measures(now_millis)
            measures.metrics.counter(SKIPPED_METRIC).inc(left_out)
            self.reporting.report(subtask, measures)


# Leaves of plans


@batch_form(n.Values)
def values(node: n.Values, inputs: list[Part], context: Context) -> DataFrame:
    """Rows written in the query."""
    if not node.columns:
        return context.session.range(len(node.rows)).select()
    types = types_of(node.columns)
    columns = [to_arrow([row[index] for row in node.rows], kind) for index, kind in enumerate(types)]
    return arrow_frame(pa.Table.from_arrays(columns, schema=schema_of(types)), node.columns, context)


def arrow_frame(table: pa.Table, columns: n.Schema, context: Context) -> DataFrame:
    """Arrow columns c0, c1, ... as a frame of exactly the plan's types."""
    return typed(context.session.createDataFrame(table), columns)


@batch_form(n.Scan)
def scan(node: n.Scan, inputs: list[Part], context: Context) -> Part | DataFrame:
    """A table of a connector.

    :raises NotImplementedError: its rows are changes.
    :raises ValueError: it never ends, or has no connector.
    """
    problem = unreadable(node)
    if problem is not None:
        raise problem
    name = ".".join(node.path)
    columns = tuple(range(len(node.columns))) if node.projected is None else node.projected
    frame = node.source.frame(context.session, columns, node.filters)
    if frame is None:
        rows = _by_spark(node, columns, context)
        if rows is not None:
            return rows
        return read_source(node.source.stream(columns, node.filters), types_of(node.columns), name, context)
    return cut_times(Part.of_frame(typed(frame, node.columns)), node.columns, context)


def _by_spark(node: n.Scan, columns: tuple[int, ...], context: Context) -> Part | None:
    """The rows of files that Spark reads itself, None if there are none."""
    try:
        return parquet_rows(node.source, columns, node.filters, context)
    except FileNotFoundError:
        if context.reads:
            raise
        return None


@batch_form(n.StreamScan)
def stream_scan(node: n.StreamScan, inputs: list[Part], context: Context) -> DataFrame:
    """A DataStream: its program runs first.

    :raises NotImplementedError: there is no program, or the stream has changes.
    """
    if context.streams is None:
        raise NotImplementedError("a DataStream as a table needs the environment of its program")
    return arrow_frame(context.streams(node), node.columns, context)
