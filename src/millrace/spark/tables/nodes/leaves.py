"""Where rows come from: tables of connectors, and rows written in the query."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.relational.arrow import schema_of
from millrace.relational.values import to_arrow
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.nodes.parquet_files import parquet_rows
from millrace.spark.tables.nodes.reading import read_source
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import cut_times, typed, types_of
from millrace.spark.tables.steps.parts import Part


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


def unreadable(node: n.Scan) -> Exception | None:
    """Why batch mode cannot read a table, None if it can."""
    name = ".".join(node.path)
    if node.source is None:
        return ValueError(f"table {name} has no connector: it cannot be read")
    if not node.source.kinds <= {RowKind.INSERT}:
        kinds = ", ".join(sorted(kind.name for kind in node.source.kinds))
        return NotImplementedError(
            f"table {name} holds changes ({kinds}), which batch mode cannot read: use streaming mode"
        )
    if not node.source.bounded:
        return ValueError(f"table {name} never ends: give its source an end, or use streaming mode")
    return None


@batch_form(n.StreamScan)
def stream_scan(node: n.StreamScan, inputs: list[Part], context: Context) -> DataFrame:
    """A DataStream: its program runs first.

    :raises NotImplementedError: there is no program, or the stream has changes.
    """
    if context.streams is None:
        raise NotImplementedError("a DataStream as a table needs the environment of its program")
    return arrow_frame(context.streams(node), node.columns, context)
