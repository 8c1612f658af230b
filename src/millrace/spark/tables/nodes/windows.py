"""Windows over a time column: each row once per window that it is in, and aggregates of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.spark.tables.nodes.aggregates import group
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, typed, types_of
from millrace.spark.tables.texts.times import DATE_TIME, from_micros, micros, zoned

_START, _END = "window_start_us", "window_end_us"


@batch_form(n.WindowTable)
def window_table(node: n.WindowTable, inputs: list[DataFrame], context: Context) -> DataFrame:
    """Rows with window_start, window_end and window_time. A row without a time is in no window."""
    width = len(node.input.schema)
    partition = [f"c{index}" for index in node.partition]
    frame = _assigned(inputs[0], node.window, node.time, node.input.schema, partition)
    last = _last(from_micros(_END), node.columns[width + 2].type)
    added = [F.expr(text) for text in (from_micros(_START), from_micros(_END), last)]
    return typed(frame.select(*names(width), *added).toDF(*names(width + 3)), node.columns)


@batch_form(n.WindowAggregate)
def window_aggregate(node: n.WindowAggregate, inputs: list[DataFrame], context: Context) -> DataFrame:
    """The keys, the aggregates, the properties of the window."""
    schema = node.input.schema
    frame = inputs[0]
    own_keys = [f"c{key}" for key in node.keys]
    if node.attached is None:
        frame = _assigned(frame, node.window, node.time, schema, own_keys)
        window = [_START, _END]
    else:
        window = [f"c{index}" for index in node.attached]
    sets = node.sets
    if sets is not None:
        sets = tuple((*each, len(own_keys), len(own_keys) + 1) for each in sets)
    keys = [*own_keys, *window]
    grouped = group(frame, keys, node.aggregates, sets, types_of(schema), context)
    start, end = names(2, len(own_keys))
    if node.attached is None:
        start, end = from_micros(start), from_micros(end)
    kept = [F.col(name) for name in (*names(len(own_keys)), *names(len(node.aggregates), len(keys)))]
    for place, each in enumerate(node.properties, len(kept)):
        texts = {"START": start, "END": end, "ROWTIME": _last(end, node.columns[place].type), "PROCTIME": "now()"}
        kept.append(F.expr(texts[each]))
    return typed(grouped.select(*kept).toDF(*names(len(node.columns))), node.columns)


def _last(end: str, wanted: DataType) -> str:
    """The time of a window: its last millisecond."""
    last = f"({end} - INTERVAL '0.001' SECOND)"
    return zoned(last) if isinstance(wanted, t.LocalZonedTimestampType) else last


def _assigned(
    frame: DataFrame, window: n.WindowSpec, time: int, schema: n.Schema, partition: Sequence[str]
) -> DataFrame:
    """The rows with start and end of their windows in microseconds of local time."""
    kind: Any = schema[time].type
    if not isinstance(kind, DATE_TIME):
        raise NotImplementedError(f"a window needs a TIMESTAMP or TIMESTAMP_LTZ column, not {kind}")
    frame = frame.where(f"c{time} IS NOT NULL")
    frame = frame.withColumn("time_us", F.expr(micros(f"c{time}", kind)))
    if window.kind == "SESSION":
        return _sessions(frame, window.size * 1000, partition)
    size, offset = window.size * 1000, window.offset * 1000
    step = size if window.slide is None else window.slide * 1000
    if window.kind == "TUMBLE":
        start = f"time_us - pmod(time_us - {offset}L, {size}L)"
        return frame.withColumn(_START, F.expr(start)).withColumn(_END, F.expr(f"{_START} + {size}L"))
    if window.kind == "HOP":
        newest = f"(time_us - pmod(time_us - {offset}L, {step}L))"
        starts = (
            f"CASE WHEN {newest} > time_us - {size}L "
            f"THEN sequence({newest}, time_us - {size}L + 1L, {-step}L) ELSE CAST(array() AS ARRAY<BIGINT>) END"
        )
        return frame.withColumn(_START, F.explode(F.expr(starts))).withColumn(_END, F.expr(f"{_START} + {size}L"))
    if window.kind == "CUMULATE":
        start = f"time_us - pmod(time_us - {offset}L, {size}L)"
        first = f"{_START} + ((time_us - {_START}) div {step}L + 1L) * {step}L"
        ends = F.explode(F.expr(f"sequence({first}, {_START} + {size}L, {step}L)"))
        return frame.withColumn(_START, F.expr(start)).withColumn(_END, ends)
    raise NotImplementedError(f"window {window.kind} is not one of TUMBLE, HOP, CUMULATE, SESSION")


def _sessions(frame: DataFrame, gap: int, partition: Sequence[str]) -> DataFrame:
    """A session goes on as long as the next row comes no later than the gap after the one before."""
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    # Gaps and ends count in milliseconds.
    frame = frame.withColumn("time_us", F.expr("time_us - pmod(time_us, 1000L)"))
    before = f"lag(time_us) OVER ({by}ORDER BY time_us)"
    frame = frame.withColumn("first", F.expr(f"CAST(coalesce(time_us - {before} > {gap}L, TRUE) AS INT)"))
    frame = frame.withColumn("session", F.expr(f"sum(first) OVER ({by}ORDER BY time_us RANGE UNBOUNDED PRECEDING)"))
    whole = f"OVER (PARTITION BY {', '.join([*partition, 'session'])})"
    frame = frame.withColumn(_START, F.expr(f"min(time_us) {whole}"))
    return frame.withColumn(_END, F.expr(f"max(time_us) {whole} + {gap}L"))
