"""Windows over a time column: each row once per window that it is in, and aggregates of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.spark.tables.nodes.aggregates import group
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, typed_texts, types_of
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.texts.times import DATE_TIME, from_micros, micros, zoned

_START, _END = "window_start_us", "window_end_us"


@batch_form(n.WindowTable)
def window_table(node: n.WindowTable, inputs: list[Part], context: Context) -> Part:
    """Rows with window_start, window_end and window_time. A row without a time is in no window."""
    width = len(node.input.schema)
    partition = [f"c{index}" for index in node.partition]
    part = _assigned(inputs[0], node.window, node.time, node.input.schema, partition)
    last = _last(from_micros(_END), node.columns[width + 2].type)
    texts = [*names(width), from_micros(_START), from_micros(_END), last]
    return part.select(typed_texts(texts, [*types_of(node.input.schema), None, None, None], node.columns))


@batch_form(n.WindowAggregate)
def window_aggregate(node: n.WindowAggregate, inputs: list[Part], context: Context) -> Part:
    """The keys, the aggregates, the properties of the window."""
    schema = node.input.schema
    part = inputs[0]
    own_keys = [f"c{key}" for key in node.keys]
    if node.attached is None:
        part = _assigned(part, node.window, node.time, schema, own_keys)
        window = [_START, _END]
    else:
        window = [f"c{index}" for index in node.attached]
    sets = node.sets
    if sets is not None:
        sets = tuple((*each, len(own_keys), len(own_keys) + 1) for each in sets)
    keys = [*own_keys, *window]
    grouped = group(part, keys, node.aggregates, sets, types_of(schema), context)
    start, end = names(2, len(own_keys))
    if node.attached is None:
        start, end = from_micros(start), from_micros(end)
    kept = [*names(len(own_keys)), *names(len(node.aggregates), len(keys))]
    for place, each in enumerate(node.properties, len(kept)):
        texts = {"START": start, "END": end, "ROWTIME": _last(end, node.columns[place].type), "PROCTIME": "now()"}
        kept.append(texts[each])
    return grouped.select(typed_texts(kept, [None] * len(kept), node.columns))


def _last(end: str, wanted: DataType) -> str:
    """The time of a window: its last millisecond."""
    last = f"({end} - INTERVAL '0.001' SECOND)"
    return zoned(last) if isinstance(wanted, t.LocalZonedTimestampType) else last


def _assigned(part: Part, window: n.WindowSpec, time: int, schema: n.Schema, partition: Sequence[str]) -> Part:
    """The rows with start and end of their windows in microseconds of local time."""
    kind: Any = schema[time].type
    if not isinstance(kind, DATE_TIME):
        raise ValueError(f"a window needs a TIMESTAMP or TIMESTAMP_LTZ column, not {kind}")
    part = part.where([f"c{time} IS NOT NULL"])
    time_us = micros(f"c{time}", kind)
    if window.kind == "SESSION":
        return _sessions(part, time_us, window.size * 1000, partition)
    part = part.plus({"time_us": time_us})
    size, offset = window.size * 1000, window.offset * 1000
    step = size if window.slide is None else window.slide * 1000
    if window.kind == "TUMBLE":
        start = f"time_us - pmod(time_us - {offset}L, {size}L)"
        return part.plus({_START: start}).plus({_END: f"{_START} + {size}L"})
    if window.kind == "HOP":
        newest = f"(time_us - pmod(time_us - {offset}L, {step}L))"
        starts = (
            f"CASE WHEN {newest} > time_us - {size}L "
            f"THEN sequence({newest}, time_us - {size}L + 1L, {-step}L) ELSE CAST(array() AS ARRAY<BIGINT>) END"
        )
        return part.plus({_START: f"explode({starts})"}).plus({_END: f"{_START} + {size}L"})
    if window.kind == "CUMULATE":
        start = f"time_us - pmod(time_us - {offset}L, {size}L)"
        first = f"{_START} + ((time_us - {_START}) div {step}L + 1L) * {step}L"
        return part.plus({_START: start}).plus({_END: f"explode(sequence({first}, {_START} + {size}L, {step}L))"})
    raise ValueError(f"window {window.kind} is not one of TUMBLE, HOP, CUMULATE, SESSION")


def _sessions(part: Part, time_us: str, gap: int, partition: Sequence[str]) -> Part:
    """A session goes on as long as the next row comes no later than the gap after the one before."""
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    # Gaps and ends count in milliseconds.
    part = part.plus({"exact_us": time_us}).plus({"time_us": "exact_us - pmod(exact_us, 1000L)"})
    before = f"lag(time_us) OVER ({by}ORDER BY time_us)"
    part = part.plus({"begins": f"CAST(coalesce(time_us - {before} > {gap}L, TRUE) AS INT)"})
    part = part.plus({"session": f"sum(begins) OVER ({by}ORDER BY time_us RANGE UNBOUNDED PRECEDING)"})
    whole = f"OVER (PARTITION BY {', '.join([*partition, 'session'])})"
    return part.plus({_START: f"min(time_us) {whole}", _END: f"max(time_us) {whole} + {gap}L"})
