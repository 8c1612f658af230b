"""Windows over a time column: a window table has each row once per window that it is in; window aggregates are
aggregates of those.

Windows that overlap share their rows. Where the aggregates have partial results, these are made once for each slice of
time that no window cuts, and only they are given to the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from pyspark.sql import SparkSession

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Ref
from millrace.relational.types import DataType
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import names, typed_texts, types_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.grouping import call_texts, group, grouped_by
from millrace.spark.tables.steps.partial_results import in_two_steps
from millrace.spark.tables.steps.parts import Part, frame_of_sql, numbered
from millrace.spark.tables.steps.sql_text import DATE_TIME, from_micros, micros, zoned

_START, _END, _TIME, _WHOLE = "window_start_us", "window_end_us", "time_us", "whole_us"
"""columns with microseconds of local time"""
_MICROS = t.BigIntType()
_LENGTH_FOLLOWS = ("TUMBLE", "HOP")
"""kinds of windows that are all of one length, so that the end follows from the start"""


@batch_form(n.WindowTable)
def window_table(node: n.WindowTable, inputs: list[Part], context: Context) -> Part:
    """Rows with window_start, window_end and window_time. A row without a time is in no window."""
    width = len(node.input.schema)
    partition = [f"c{index}" for index in node.partition]
    part = _assigned(_timed(inputs[0], node.time, node.input.schema), node.window, partition)
    last = _last(from_micros(_END), node.columns[width + 2].type)
    texts = [*names(width), from_micros(_START), from_micros(_END), last]
    return part.select(typed_texts(texts, [*types_of(node.input.schema), None, None, None], node.columns))


@batch_form(n.WindowAggregate)
def window_aggregate(node: n.WindowAggregate, inputs: list[Part], context: Context) -> Part:
    """The keys, the aggregates, the properties of the window."""
    keys = len(node.keys)
    if node.attached is not None:
        window = [f"c{index}" for index in node.attached]
        grouped = _grouped(inputs[0], node, window, context)
        start, end = names(2, keys)
    else:
        window = [_START] if node.window.kind in _LENGTH_FOLLOWS else [_START, _END]
        timed = _timed(inputs[0], node.time, node.input.schema)
        grouped = (
            _by_slices(timed, node, window, context)
            or _by_sessions(timed, node, context)
            or _by_rows(timed, node, window, context)
        )
        start = f"c{keys}"
        end = f"({start} + {node.window.size * 1000}L)" if len(window) == 1 else f"c{keys + 1}"
        start, end = from_micros(start), from_micros(end)
    kept = [*names(keys), *names(len(node.aggregates), keys + len(window))]
    for place, each in enumerate(node.properties, len(kept)):
        texts = {"START": start, "END": end, "ROWTIME": _last(end, node.columns[place].type), "PROCTIME": "now()"}
        kept.append(texts[each])
    return grouped.select(typed_texts(kept, [None] * len(kept), node.columns))


def _grouped(part: Part, node: n.WindowAggregate, window: Sequence[str], context: Context) -> Part:
    """The keys, the columns of the window, the values of the calls, of rows that have their windows."""
    own_keys = [f"c{key}" for key in node.keys]
    sets = node.sets
    if sets is not None:
        bounds = range(len(own_keys), len(own_keys) + len(window))
        sets = tuple((*each, *bounds) for each in sets)
    return group(part, [*own_keys, *window], node.aggregates, sets, types_of(node.input.schema), context)


def _by_rows(timed: Part, node: n.WindowAggregate, window: Sequence[str], context: Context) -> Part:
    """As ``_grouped``: each row is given to all its windows."""
    return _grouped(_assigned(timed, node.window, [f"c{key}" for key in node.keys]), node, window, context)


def _by_slices(timed: Part, node: n.WindowAggregate, window: Sequence[str], context: Context) -> Part | None:
    """As ``_grouped``: partial results of each slice are given to all windows that it is in. None if windows share no
    rows, or the aggregates have no partial results."""
    slice_us = _slice(node.window)
    if slice_us is None or node.sets is not None:
        return None
    part, prepared, _ = call_texts(timed, node.aggregates, types_of(node.input.schema), context)
    steps = in_two_steps(node.aggregates, prepared)
    if steps is None:
        return None
    own_keys, keys = [f"c{key}" for key in node.keys], names(len(node.keys))
    part = part.plus({_SLICE: _floor(slice_us, node.window.offset * 1000)})
    columns = [*numbered(own_keys), f"{_SLICE} AS {_TIME}"]
    columns += [f"{text} AS {name}" for text, name in steps.partial.items()]
    slices = part.select(columns, f"GROUP BY {', '.join([*own_keys, _SLICE])}")
    return grouped_by(_assigned(slices, node.window, keys), [*keys, *window], None, steps.merged)


def _by_sessions(timed: Part, node: n.WindowAggregate, context: Context) -> Part | None:
    """As ``_grouped``: the end of a session is one more aggregate of its rows, so that it need not be looked for before
    they are grouped. None if windows are no sessions."""
    if node.window.kind != "SESSION" or node.sets is not None:
        return None
    keys, types = [f"c{key}" for key in node.keys], types_of(node.input.schema)
    part = _begun(timed, node.window.size * 1000, keys).plus({f"c{len(types)}": _WHOLE})
    last = AggCall("MAX", (Ref(_MICROS, len(types)),), _MICROS)
    grouped = group(part, [*keys, _START], [*node.aggregates, last], None, [*types, _MICROS], context)
    *found, end = names(len(keys) + len(node.aggregates) + 2)
    texts = [*found[: len(keys) + 1], f"{end} + {node.window.size * 1000}L", *found[len(keys) + 1 :]]
    return grouped.select(numbered(texts))


_SLICE = "slice_us"
_MOST_SLICES = 10
"""slices of a slide at most: where size and slide have hardly anything in common, slices would hold one row each"""


def _slice(window: n.WindowSpec) -> int | None:
    """The length in microseconds of slices that are either in a window or out of it, whole; None where windows do not
    overlap, or such slices are too short."""
    if window.slide is None or window.slide >= window.size or window.kind not in ("HOP", "CUMULATE"):
        return None
    length = gcd(window.size, window.slide)
    return length * 1000 if window.slide <= _MOST_SLICES * length else None


def _floor(length: int, offset: int) -> str:
    """The begin of the span of this length that a time is in."""
    return f"({_TIME} - pmod({_TIME} - {offset}L, {length}L))"


def _last(end: str, wanted: DataType) -> str:
    """The time of a window: its last millisecond."""
    last = f"({end} - INTERVAL '0.001' SECOND)"
    return zoned(last) if isinstance(wanted, t.LocalZonedTimestampType) else last


def _timed(part: Part, time: int, schema: n.Schema) -> Part:
    """The rows that have a time, with it in microseconds of local time."""
    kind: Any = schema[time].type
    if not isinstance(kind, DATE_TIME):
        raise ValueError(f"a window needs a TIMESTAMP or TIMESTAMP_LTZ column, not {kind}")
    timed = part.where([f"c{time} IS NOT NULL"])
    return timed.plus({_TIME: micros(f"c{time}", kind, reads_local_times(part.session))})


_local_times: dict[str, bool] = {}


def reads_local_times(session: SparkSession) -> bool:
    """Whether ``unix_micros`` takes a TIMESTAMP_NTZ as it is: then its analysis adds no cast to an instant. The same
    for each session of a version of Spark."""
    version = session.version
    known = _local_times.get(version)
    if known is None:
        frame = frame_of_sql(session, "SELECT unix_micros(TIMESTAMP_NTZ '1970-01-01 00:00:00')")
        plan: Any = frame._jdf.queryExecution().analyzed()
        known = _local_times[version] = "cast(" not in str(plan.toString()).lower()
    return known


def _assigned(part: Part, window: n.WindowSpec, partition: Sequence[str]) -> Part:
    """The rows with start and end of their windows in microseconds of local time; of sessions, with those of the keys
    ``partition``."""
    if window.kind == "SESSION":
        return _sessions(part, window.size * 1000, partition)
    size, offset = window.size * 1000, window.offset * 1000
    step = size if window.slide is None else window.slide * 1000
    if window.kind == "TUMBLE":
        return part.plus({_START: _floor(size, offset)}).plus({_END: f"{_START} + {size}L"})
    if window.kind == "HOP":
        newest = _floor(step, offset)
        starts = (
            f"CASE WHEN {newest} > {_TIME} - {size}L "
            f"THEN sequence({newest}, {_TIME} - {size}L + 1L, {-step}L) ELSE CAST(array() AS ARRAY<BIGINT>) END"
        )
        return part.plus({_START: f"explode({starts})"}).plus({_END: f"{_START} + {size}L"})
    if window.kind == "CUMULATE":
        first = f"{_START} + (({_TIME} - {_START}) div {step}L + 1L) * {step}L"
        part = part.plus({_START: _floor(size, offset)})
        return part.plus({_END: f"explode(sequence({first}, {_START} + {size}L, {step}L))"})
    raise ValueError(f"window {window.kind} is not one of TUMBLE, HOP, CUMULATE, SESSION")


def _sessions(part: Part, gap: int, partition: Sequence[str]) -> Part:
    whole = f"OVER (PARTITION BY {', '.join([*partition, _START])})"
    return _begun(part, gap, partition).plus({_END: f"max({_WHOLE}) {whole} + {gap}L"})


def _begun(part: Part, gap: int, partition: Sequence[str]) -> Part:
    """The rows with their times in whole milliseconds, in which gaps and ends count, and the start of their sessions. A
    session goes on as long as the next row comes no later than the gap after the one before."""
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    over = f"OVER ({by}ORDER BY {_WHOLE}"
    part = part.plus({_WHOLE: f"{_TIME} - pmod({_TIME}, 1000L)"})
    goes_on = f"{_WHOLE} - lag({_WHOLE}) {over}) <= {gap}L"
    part = part.plus({"begun": f"CASE WHEN {goes_on} THEN NULL ELSE {_WHOLE} END"})
    return part.plus({_START: f"max(begun) {over} RANGE UNBOUNDED PRECEDING)"})
