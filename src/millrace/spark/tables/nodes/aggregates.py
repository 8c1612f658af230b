"""What is computed of the rows of a key. GROUP BY: aggregates, grouping sets, functions of the user. And along the
order of a partition: OVER windows, Top-N, deduplication, MATCH_RECOGNIZE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import Texts
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Distance, Frame, SortKey
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
    TableAggregateTask,
    collected,
    collected_in_packs,
)
from millrace.spark.tables.steps.grouping import call_texts, finish_column, group, grouped_by
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import as_internal, outgoing, spark_schema, spark_type
from millrace.spark.tables.steps.sql_text import (
    RANKING,
    collected_text,
    constant_offset,
    native_text,
    shifted_text,
)

# GROUP BY


@batch_form(n.Aggregate)
def aggregate(node: n.Aggregate, inputs: list[Part], context: Context) -> Part:
    """GROUP BY: key columns, then aggregates."""
    types = types_of(node.input.schema)
    keys = [f"c{key}" for key in node.keys]
    grouped = group(inputs[0], keys, node.aggregates, node.sets, types, context)
    found = [*(types[key] for key in node.keys), *(call.type for call in node.aggregates)]
    return retyped(grouped, found, node.columns)


@batch_form(n.TableAggregate)
def table_aggregate(node: n.TableAggregate, inputs: list[Part], context: Context) -> DataFrame:
    """A function of the user that makes any number of rows of a group: the keys, then its columns."""
    call = node.call
    keys = [f"c{key}" for key in node.keys]
    width = len(keys)
    part, (texts,), _ = call_texts(inputs[0], [call], types_of(node.input.schema), context)
    lists = collected_in_packs(part, keys, [call], [texts], context) or collected(part, keys, [call], [texts])
    grouped = grouped_by(lists.part, lists.keys, None, lists.texts).frame
    row = RowType([RowField(column.name, column.type) for column in node.columns[width:]])
    task = TableAggregateTask(call, context.task("TableAggregate"), row, unpacked=lists.unpacked[0])
    shipped = context.ship(task, f"table aggregate function {call.function}")
    made = arrow_function(shipped, [F.col(f"c{width}")], s.ArrayType(spark_type(row)), once=True)
    rows = grouped.select(*names(width), made.alias("made")).select(*names(width), F.inline("made"))
    return typed(rows.toDF(*names(len(node.columns))), node.columns)


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
