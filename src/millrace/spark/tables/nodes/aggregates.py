"""What is computed of the rows of a key. GROUP BY: aggregates, grouping sets, functions of the user, and windows over a
time column (a window table has each row once per window that it is in; window aggregates are aggregates of those).
And along the order of a partition: OVER windows, Top-N, deduplication, MATCH_RECOGNIZE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import Texts
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import AggCall, Distance, Frame, Rex, SortKey
from millrace.relational.rows import record_batch
from millrace.relational.type_table import schema_of
from millrace.relational.types import DataType, RowField, RowType
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.tables.columns.keys import Key
from millrace.runtime.tables.columns.keys import group as rows_by_key
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.matching.automaton import AutomatonMachine
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.machine import Machine
from millrace.runtime.tables.matching.standard import StandardMachine
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import (
    arrow_function,
    compute,
    names,
    order_text,
    ordered,
    retyped,
    typed,
    typed_texts,
    types_of,
)
from millrace.spark.tables.steps.context import Context, PythonTask
from millrace.spark.tables.steps.finishing import (
    FinishTask,
    FinishTasks,
    TableAggregateTask,
    collected,
    collected_in_packs,
)
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import as_internal, outgoing, spark_schema, spark_type
from millrace.spark.tables.steps.sql_text import (
    DATE_TIME,
    GROUPING,
    RANKING,
    collected_text,
    constant_offset,
    from_micros,
    grouping_text,
    micros,
    native_text,
    shifted_text,
    zoned,
)

# GROUP BY

_PLACE = "place"
_MADE = "made"
"""The column of what Python makes."""


@batch_form(n.Aggregate)
def aggregate(node: n.Aggregate, inputs: list[Part], context: Context) -> Part:
    """GROUP BY: key columns, then aggregates."""
    types = types_of(node.input.schema)
    keys = [f"c{key}" for key in node.keys]
    grouped = group(inputs[0], keys, node.aggregates, node.sets, types, context)
    found = [*(types[key] for key in node.keys), *(call.type for call in node.aggregates)]
    return retyped(grouped, found, node.columns)


def group(
    part: Part,
    keys: Sequence[str],
    calls: Sequence[AggCall],
    sets: Sequence[Sequence[int]] | None,
    types: Sequence[DataType],
    context: Context,
) -> Part:
    """The keys and then the calls' values, of the calls' types, as columns c0, c1, ...

    :param types: of the first columns of the input, which the calls refer to.
    """
    part, prepared, _ = call_texts(part, calls, types, context)
    if _loses_order(calls):
        part = part.plus({_PLACE: "monotonically_increasing_id()"})
        prepared = [replace(each, place=_PLACE) for each in prepared]
    width = len(keys)
    by_spark = [_spark_text(call, texts, sets is not None) for call, texts in zip(calls, prepared)]
    rows = collected(part, keys, calls, prepared)
    if sets is None and _in_packs(calls, by_spark):
        packs = collected_in_packs(part, keys, calls, prepared, context)
        if packs is not None:
            rows, by_spark = packs, [None] * len(calls)
    grouped = _grouped(rows.part, rows.keys, sets, [text or each for text, each in zip(by_spark, rows.texts)])
    if all(by_spark):
        return grouped
    task = context.task("GroupAggregate")
    lists = [at for at, text in enumerate(by_spark) if not text]
    made = FinishTasks(tuple(FinishTask(calls[at], task, unpacked=rows.unpacked[at]) for at in lists), task)
    # One function for all of them: Spark does not get through a plan with sixty.
    column = arrow_function(
        context.ship(made, f"aggregate function {', '.join(dict.fromkeys(calls[at].function for at in lists))}"),
        [F.col(f"c{width + at}") for at in lists],
        spark_schema(calls[at].type for at in lists),
        once=True,
    )
    finished = Part.of_frame(grouped.frame.select(*names(width + len(calls)), column.alias(_MADE)))
    fields = iter(range(len(lists)))
    texts = [f"c{width + at}" if text else f"{_MADE}.c{next(fields)}" for at, text in enumerate(by_spark)]
    return finished.select(numbered([*names(width), *texts]))


def _loses_order(calls: Sequence[AggCall]) -> bool:
    """Whether rows come to their aggregate in another order than they have: Spark exchanges them by the values of a
    DISTINCT aggregate first, and those of the others with them. Maps cannot be sorted together with places."""
    if not any(call.distinct for call in calls) or all(call.distinct for call in calls):
        return False
    return not any(name in str(arg.type) for call in calls for arg in call.args for name in ("MAP<", "MULTISET<"))


def _in_packs(calls: Sequence[AggCall], by_spark: Sequence[str | None]) -> bool:
    """Whether Python makes all values, of rows that it has put together before: those of Spark's own functions beside
    the user's, too, since Spark would collect the rows of the latter one by one. Not so what Python would have to look
    for equal values for, nor what is no function of rows."""
    alone = any(text and (call.distinct or call.function in GROUPING) for call, text in zip(calls, by_spark))
    return not all(by_spark) and not alone


def _spark_text(call: AggCall, texts: Texts, grouped: bool) -> str | None:
    """The call as Spark computes it; None: Python makes its value of the rows of the group."""
    if call.function in GROUPING and call.udf is None:
        return grouping_text(call, grouped)
    return native_text(call, texts)


def call_texts(
    part: Part,
    calls: Sequence[AggCall],
    types: Sequence[DataType],
    context: Context,
    more: Sequence[Rex] = (),
) -> tuple[Part, list[Texts], list[str]]:
    """The expressions of calls, and ``more``, over the columns of rows, which may have a column more then."""
    expressions = [*(each for call in calls for each in call.inputs()), *more]
    computed = compute(part, expressions, types, context)
    texts = iter(computed.texts)
    found = []
    for call in calls:
        args = tuple(next(texts) for _ in call.args)
        condition = None if call.filter is None else next(texts)
        found.append(Texts(args, condition, tuple(next(texts) for _ in call.order)))
    return computed.part, found, list(texts)


def finish_column(call: AggCall, name: str, context: Context) -> Column:
    """The values of a call from a column of collected rows."""
    task = FinishTask(call, context.task("GroupAggregate"))
    shipped = context.ship(task, f"aggregate function {call.function}")
    return arrow_function(shipped, [F.col(name)], spark_type(call.type), once=True).alias(name)


def _grouped(part: Part, keys: Sequence[str], sets: Sequence[Sequence[int]] | None, columns: Sequence[str]) -> Part:
    by = ", ".join(keys)
    if sets is not None:
        by += f" GROUPING SETS ({', '.join('(' + ', '.join(keys[at] for at in each) + ')' for each in sets)})"
    # Without keys there is one row, also where no value is wanted of it.
    values = [*columns] if keys or columns else ["count(1)"]
    return part.select(numbered([*keys, *values]), f"GROUP BY {by}" if by else "")


@batch_form(n.TableAggregate)
def table_aggregate(node: n.TableAggregate, inputs: list[Part], context: Context) -> DataFrame:
    """A function of the user that makes any number of rows of a group: the keys, then its columns."""
    call = node.call
    keys = [f"c{key}" for key in node.keys]
    width = len(keys)
    part, (texts,), _ = call_texts(inputs[0], [call], types_of(node.input.schema), context)
    lists = collected_in_packs(part, keys, [call], [texts], context) or collected(part, keys, [call], [texts])
    grouped = _grouped(lists.part, lists.keys, None, lists.texts).frame
    row = RowType([RowField(column.name, column.type) for column in node.columns[width:]])
    task = TableAggregateTask(call, context.task("TableAggregate"), row, unpacked=lists.unpacked[0])
    shipped = context.ship(task, f"table aggregate function {call.function}")
    made = arrow_function(shipped, [F.col(f"c{width}")], s.ArrayType(spark_type(row)), once=True)
    rows = grouped.select(*names(width), made.alias("made")).select(*names(width), F.inline("made"))
    return typed(rows.toDF(*names(len(node.columns))), node.columns)


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


# Partitions in their order

MOST_ROWS = 1 << 30
"""rows of a partition at most: Spark counts them, and adds the distance of a bound, in 32 bits"""


@batch_form(n.Over)
def over(node: n.Over, inputs: list[Part], context: Context) -> Part:
    """The input's columns, then one for each call."""
    types = types_of(node.input.schema)
    width = len(types)
    calls = [call for call, _ in node.calls]
    keys = [key.expression for key in node.order]
    part, prepared, by = call_texts(inputs[0], calls, types, context, keys)
    order = [order_text(text, key) for text, key in zip(by, node.order)]
    base = f"PARTITION BY {', '.join(f'c{index}' for index in node.partition)} " if node.partition else ""
    base += f"ORDER BY {', '.join(order)} " if order else ""
    columns = []
    python = []
    for index, ((call, bounds), texts) in enumerate(zip(node.calls, prepared), width):
        clause = "" if call.function in RANKING else _frame(bounds, node.order)
        texts = Texts(texts.args, texts.filter, texts.order, f" OVER ({base}{clause})")
        text = native_text(call, texts) if constant_offset(call) else shifted_text(call, texts, base)
        if text is None:
            python.append((index, call))
            text = collected_text(call, texts)
        columns.append(text)
    part = part.select(numbered([*names(width), *columns]))
    if python:
        done = {index: finish_column(call, f"c{index}", context) for index, call in python}
        kept = [done.get(index, F.col(f"c{index}")) for index in range(width + len(columns))]
        part = Part.of_frame(part.frame.select(*kept))
    return retyped(part, [*types, *(call.type for call in calls)], node.schema)


def _frame(frame: Frame, order: Sequence[SortKey]) -> str:
    """ROWS or RANGE BETWEEN. Without an order all rows are each other's peers."""
    if not order and not frame.rows:
        return "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    start = _bound(frame, frame.preceding, "PRECEDING", order)
    end = _bound(frame, frame.following, "FOLLOWING", order)
    return f"{'ROWS' if frame.rows else 'RANGE'} BETWEEN {start} AND {end}"


def _bound(frame: Frame, distance: Distance | None, side: str, order: Sequence[SortKey]) -> str:
    if distance is None or (frame.rows and distance > MOST_ROWS):
        return f"UNBOUNDED {side}"
    if distance == 0:
        return "CURRENT ROW"
    if distance < 0:
        distance, side = -distance, "FOLLOWING" if side == "PRECEDING" else "PRECEDING"
    if frame.rows:
        return f"{min(int(distance), MOST_ROWS)} {side}"
    kind = order[0].expression.type
    if isinstance(kind, t.NumericType):
        return f"{_number(distance)} {side}"
    if isinstance(kind, t.DateType):
        return f"{int(distance) // 86_400_000} {side}"
    seconds, millis = divmod(int(distance), 1000)
    return f"INTERVAL '{seconds}.{millis:03d}' SECOND {side}"


def _number(distance: Distance) -> str:
    """As a constant of Spark."""
    if isinstance(distance, float):
        return f"{distance!r}D"
    return f"{distance:f}BD" if isinstance(distance, Decimal) else str(distance)


@batch_form(n.Rank)
def rank(node: n.Rank, inputs: list[Part], context: Context) -> Part:
    """Top-N."""
    types = types_of(node.input.schema)
    computed = compute(inputs[0], [key.expression for key in node.order], types, context)
    order = [order_text(text, key) for text, key in zip(computed.texts, node.order)]
    return _ranked(computed.part, node, node.function.lower(), node.partition, order, (node.first, node.last))


@batch_form(n.Deduplicate)
def deduplicate(node: n.Deduplicate, inputs: list[Part], context: Context) -> Part:
    """The first or last row of each key."""
    order = [f"c{node.time} {'DESC NULLS LAST' if node.last else 'ASC NULLS FIRST'}"]
    return _ranked(inputs[0], node, "row_number", node.keys, order, (1, 1))


def _ranked(
    part: Part,
    node: n.Rank | n.Deduplicate,
    function: str,
    partition: Sequence[int],
    order: Sequence[str],
    places: tuple[int, int],
) -> Part:
    width = len(node.input.schema)
    by = f"PARTITION BY {', '.join(f'c{index}' for index in partition)} " if partition else ""
    number = f"{function}() OVER ({by}ORDER BY {', '.join(order)})"
    first, last = places
    # Spark keeps only the first rows of each partition in memory if it sees the bare comparison.
    ranked = part.plus({"place": number}).where([f"place <= {last}", *([f"place >= {first}"] if first > 1 else [])])
    if node.number is None:
        return ranked.select(names(width))
    return ranked.select(typed_texts([*names(width), "place"], [*types_of(node.schema[:width]), None], node.schema))


_ROWS = 8_192
"""rows of a result that are handed on together"""


@batch_form(n.Match)
def match(node: n.Match, inputs: list[Part], context: Context) -> Part:
    """The matches of each partition."""
    types = types_of(node.input.schema)
    width = len(types)
    computed = compute(inputs[0], [key.expression for key in node.order], types, context)
    partition = [F.col(f"c{index}") for index in node.partition]
    frame = computed.part.frame
    frame = frame.repartition(*partition) if partition else frame.repartition(1)
    order = [ordered(text, key) for text, key in zip(computed.texts, node.order)]
    sorted_ = frame.sortWithinPartitions(*partition, *order).select(*names(width))
    matching = Matching(node.input.schema, replace(node, input=n.Values((), ())))
    task = MatchTask(matching, tuple(types), context.surroundings, context.task("Match"))
    schema = spark_schema([column.type for column in node.schema])
    return Part.of_frame(sorted_).in_python(task, schema, partial(context.ship, what="MATCH_RECOGNIZE"))


@dataclass(frozen=True)
class MatchTask:
    """Batches of rows that are sorted by partition and order -> batches of what their matches give."""

    matching: Matching
    types: tuple[DataType, ...]
    surroundings: Surroundings
    task: PythonTask

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self.task.functions(self.matching.wrappers()) as functions:

            def evaluate(columns: Sequence[pa.Array], length: int) -> Any:
                return FunctionEvaluator(columns, replace(self.surroundings, length=length), functions)

            standard = self.matching.node.standard
            machine = (StandardMachine if standard else AutomatonMachine)(self.matching, functions, evaluate)
            yield from _matches(machine, self.matching, self._columns(batches))

    def _columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.Array]]:
        for batch in batches:
            if batch.num_rows:
                yield [as_internal(column, kind) for column, kind in zip(batch.columns, self.types)]


def _matches(machine: Machine, matching: Matching, batches: Iterator[list[pa.Array]]) -> Iterator[pa.RecordBatch]:
    key: Key | None = None
    partition: Any = None
    for columns in batches:
        times = millis(columns[matching.time])
        grouped = rows_by_key([columns[index] for index in matching.node.partition], len(times))
        rows = machine.rows(columns, times)
        ends = [*grouped.first.tolist()[1:], len(rows)]
        for each, first, end in zip(grouped.keys, grouped.first.tolist(), ends):
            if each != key:
                if key is not None:
                    machine.search(key, partition, (), None, True)
                key, partition = each, machine.new()
            machine.search(key, partition, rows[first:end], None, False)
            yield from _taken(machine, matching, _ROWS)
    if key is not None:
        machine.search(key, partition, (), None, True)
    yield from _taken(machine, matching, 1)


def _taken(machine: Machine, matching: Matching, least: int) -> Iterator[pa.RecordBatch]:
    if machine.output.length < least:
        return
    columns, length = machine.output.take()
    types = [column.type for column in matching.node.schema]
    yield outgoing(record_batch(columns, length).cast(schema_of(types)))
