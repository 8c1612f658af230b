"""Expressions that Spark does not have: computed on Arrow columns, in one Python function a node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.rex import Call, Ref, Rex, UdfCall, refs, remap, walk
from millrace.relational.types import DataType
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.python_tasks import PythonTask
from millrace.spark.tables.texts.expressions import spark_text
from millrace.spark.tables.texts.types import as_internal, numbered_schema, outgoing, spark_schema, spark_type

_COMPUTED = "computed"
"""The column that carries the results of the Python function."""
_WHAT = "an expression"


@dataclass(frozen=True)
class Computed:
    """Rows that may have a column more, and the text of each expression over them."""

    part: Part
    texts: list[str]
    types: list[DataType | None]
    """of the texts; None: Spark may find another one than the expression's"""


def compute(part: Part, expressions: Sequence[Rex], types: Sequence[DataType], context: Context) -> Computed:
    """Make expressions over the columns of rows available as Spark SQL text.

    :param types: of the columns.
    """
    texts = [spark_text(each) for each in expressions]
    known = [each.type if text is None or isinstance(each, Ref) else None for each, text in zip(expressions, texts)]
    rest = [each for each, text in zip(expressions, texts) if text is None]
    if not rest:
        return Computed(part, [text for text in texts if text is not None], known)
    task, used = columns_task(rest, types, context)
    if part.python is None:
        part, names = in_a_struct(part, task, used, context)
    else:
        part, names = behind(part, task, used, context)
    made = iter(names)
    return Computed(part, [next(made) if text is None else text for text in texts], known)


def columns_task(
    expressions: Sequence[Rex], types: Sequence[DataType], context: Context
) -> tuple[ColumnsTask, Sequence[int]]:
    """What computes the expressions, and the columns that it needs."""
    used = sorted(set().union(*map(refs, expressions)))
    places = {index: place for place, index in enumerate(used)}
    task = ColumnsTask(
        tuple(remap(each, places) for each in expressions),
        tuple(types[index] for index in used),
        context.surroundings,
        context.task("PythonCalc"),
    )
    return task, used


def in_a_struct(part: Part, task: ColumnsTask, used: Sequence[int], context: Context) -> tuple[Part, list[str]]:
    """The rows with one column more, and what names each expression in it."""
    once = not all(_repeatable(each) for each in task.expressions)
    args = [F.col(f"c{index}") for index in used]
    column = arrow_function(context.ship(task, _WHAT), args, spark_schema(task.results), once)
    names = [f"{_COMPUTED}.c{index}" for index in range(len(task.expressions))]
    return Part.of_frame(part.frame.select("*", column.alias(_COMPUTED))), names


def behind(part: Part, task: ColumnsTask, used: Sequence[int], context: Context) -> tuple[Part, list[str]]:
    """The rows with a column more for each expression, made by Python beside what makes the rows, and their names."""
    types = [*part.types, *map(spark_type, task.results)]
    made = part.in_python(Beside(task, tuple(used)), numbered_schema(types), partial(context.ship, what=_WHAT))
    return made, [f"c{index}" for index in range(len(part.types), len(types))]


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

    @property
    def results(self) -> list[DataType]:
        return [each.type for each in self.expressions]

    def __call__(self, batches: Iterable[list[pa.Array]]) -> Iterator[pa.Array]:
        with self.task.functions(wrappers_in(self.expressions)) as functions:
            for arrays in batches:
                length = len(arrays[0])
                # Without types the only column is there to be counted.
                columns = [as_internal(array, kind) for array, kind in zip(arrays, self.types)]
                evaluator = FunctionEvaluator(columns, replace(self.surroundings, length=length), functions)
                yield struct_of([evaluator.column(each) for each in self.expressions], self.results)


@dataclass(frozen=True)
class Beside:
    """Batches with what the task makes of some columns behind their own."""

    task: ColumnsTask
    places: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: deque[pa.RecordBatch] = deque()

        def arguments() -> Iterator[list[pa.Array]]:
            for batch in batches:
                if batch.num_rows:
                    waiting.append(batch)
                    yield [batch.column(place) for place in self.places or (0,)]

        for made in self.task(arguments()):
            columns = [*waiting.popleft().columns, *made.flatten()]
            yield outgoing(pa.RecordBatch.from_arrays(columns, [f"c{at}" for at in range(len(columns))]))


def struct_of(columns: Sequence[pa.Array], types: Sequence[DataType]) -> pa.Array:
    """Columns as fields c0, c1, ... of one, of these types."""
    fields = [pa.field(f"c{index}", arrow_type(each)) for index, each in enumerate(types)]
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in zip(columns, fields)]
    return pa.StructArray.from_arrays(cast, fields=fields)
