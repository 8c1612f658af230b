"""MATCH_RECOGNIZE: partition after partition, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from millrace.relational import nodes as n
from millrace.relational.arrow import schema_of
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rows import record_batch
from millrace.relational.types import DataType
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.tables.columns.keys import Key, group
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.matching.automaton import AutomatonMachine
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.machine import Machine
from millrace.runtime.tables.matching.standard import StandardMachine
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, ordered, types_of
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.python_tasks import PythonTask
from millrace.spark.tables.texts.types import as_internal, outgoing, spark_schema

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
        grouped = group([columns[index] for index in matching.node.partition], len(times))
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
