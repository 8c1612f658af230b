"""Expressions that Spark does not have: computed on Arrow columns, in one Python function a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.rex import Call, Rex, UdfCall, refs, remap, walk
from millrace.relational.types import DataType
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.python_tasks import PythonTask
from millrace.spark.tables.texts.expressions import spark_text
from millrace.spark.tables.texts.types import as_internal, spark_schema

_COMPUTED = "computed"
"""The column that carries the results of the Python function."""


@dataclass(frozen=True)
class Computed:
    """Rows that may have a column more, and the text of each expression over them."""

    part: Part
    texts: list[str]


def compute(part: Part, expressions: Sequence[Rex], types: Sequence[DataType], context: Context) -> Computed:
    """Make expressions over the columns of rows available as Spark SQL text.

    :param types: of the columns.
    """
    texts = [spark_text(each) for each in expressions]
    rest = [each for each, text in zip(expressions, texts) if text is None]
    if not rest:
        return Computed(part, [text for text in texts if text is not None])
    column = _computed_column(rest, types, context)
    fields = iter(f"{_COMPUTED}.c{index}" for index in range(len(rest)))
    frame = part.frame.select("*", column.alias(_COMPUTED))
    return Computed(Part.of_frame(frame), [next(fields) if text is None else text for text in texts])


def _computed_column(expressions: Sequence[Rex], types: Sequence[DataType], context: Context) -> Column:
    used = sorted(set().union(*map(refs, expressions)))
    places = {index: place for place, index in enumerate(used)}
    task = ColumnsTask(
        tuple(remap(each, places) for each in expressions),
        tuple(types[index] for index in used),
        context.surroundings,
        context.task("PythonCalc"),
    )
    once = not all(_repeatable(each) for each in expressions)
    result = spark_schema(each.type for each in expressions)
    args = [F.col(f"c{index}") for index in used]
    return arrow_function(context.ship(task, "an expression"), args, result, once)


def arrow_function(function: Callable[..., Any], args: Sequence[Column], result: s.DataType, once: bool) -> Column:
    """A column that ``function`` makes of lists of Arrow columns, a batch at a time.

    :param once: it is computed exactly once a row: Spark must not repeat it in filters, because that is expensive or
        gives something else.
    """
    single = len(args) <= 1

    def lists(batches: Iterator[Any]) -> Iterator[pa.Array]:
        yield from function(([columns] if single else list(columns)) for columns in batches)

    # Spark reads from the hints which kind of function it is; naming the kind makes it warn.
    taken = Iterator[pa.Array] if single else Iterator[tuple[pa.Array, ...]]
    lists.__annotations__ = {"batches": taken, "return": Iterator[pa.Array]}
    made = F.arrow_udf(lists, result)
    if once:
        made = made.asNondeterministic()
    # Spark has no vectorised functions without arguments; a column of anything says how many rows there are.
    column: Column = made(*(args or [F.lit(0)]))
    return column


def _repeatable(expression: Rex) -> bool:
    for part in walk(expression):
        if isinstance(part, UdfCall):
            return False
        if isinstance(part, Call):
            function = find_scalar(part.function)
            if function is not None and not function.deterministic:
                return False
    return True


@dataclass(frozen=True)
class ColumnsTask:
    """The expressions as one struct column, in a task."""

    expressions: tuple[Rex, ...]
    types: tuple[DataType, ...]
    """of the columns that it gets, which the expressions refer to by position"""
    surroundings: Surroundings
    task: PythonTask

    def __call__(self, batches: Iterable[list[pa.Array]]) -> Iterator[pa.Array]:
        with self.task.functions(wrappers_in(self.expressions)) as functions:
            for arrays in batches:
                length = len(arrays[0])
                # Without types the only column is there to be counted.
                columns = [as_internal(array, kind) for array, kind in zip(arrays, self.types)]
                evaluator = FunctionEvaluator(columns, replace(self.surroundings, length=length), functions)
                yield struct_of([evaluator.column(each) for each in self.expressions], self.expressions)


def struct_of(columns: Sequence[pa.Array], expressions: Sequence[Rex]) -> pa.Array:
    """Columns as fields c0, c1, ... of one."""
    fields = [pa.field(f"c{index}", arrow_type(each.type)) for index, each in enumerate(expressions)]
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in zip(columns, fields)]
    return pa.StructArray.from_arrays(cast, fields=fields)
