"""Steps that all nodes share: expressions that Spark lacks, computed on Arrow columns; types and names of columns;
filters.

All expressions of a node that Spark does not have are computed in one Python function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex, SortKey, UdfCall, conjuncts, refs, remap, walk
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType, LocalZonedTimestampType, TimestampType, TimeType
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import wrappers_in
from millrace.spark.tables.steps.context import Context, PythonTask
from millrace.spark.tables.steps.parts import FromPython, Part, numbered
from millrace.spark.tables.steps.spark_types import (
    as_internal,
    cast_text,
    ddl,
    numbered_schema,
    outgoing,
    same_type,
    spark_schema,
    spark_type,
)
from millrace.spark.tables.steps.sql_text import MOST_PARTS, spark_text

_COMPUTED = "computed"
"""The column that carries the results of the Python function."""
_WHAT = "an expression"


@dataclass(frozen=True)
class Computed:
    """Rows, with one more column if Python had to compute something, and the text of each expression over them."""

    part: Part
    texts: list[str]
    types: list[DataType | None]
    """the type of each text's values; None: unknown, Spark may find another type than the expression has"""


def compute(part: Part, expressions: Sequence[Rex], types: Sequence[DataType], context: Context) -> Computed:
    """Make expressions available as Spark SQL text; what Spark cannot compute becomes a column that Python computes.

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


def in_python(rows: FromPython, expressions: Sequence[Rex], types: Sequence[DataType], context: Context) -> FromPython:
    """Rows with these columns, computed in the Python function that makes the rows.

    :param types: of the columns of the rows.
    """
    width = len(rows.schema.fields)
    computed = [each for each in expressions if not isinstance(each, Ref)]
    if computed:
        task, used = columns_task(computed, types, context)
        rows = _beside(rows, task, used, context)
    made = iter(range(width, width + len(computed)))
    return rows.picked([each.index if isinstance(each, Ref) else next(made) for each in expressions])


def columns_task(
    expressions: Sequence[Rex], types: Sequence[DataType], context: Context
) -> tuple[ColumnsTask, Sequence[int]]:
    """Make the task that computes the expressions in Python, and find the positions of the columns that it needs."""
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
    """The rows with one more column, a struct of all results, and the names of its fields."""
    once = not all(_repeatable(each) for each in task.expressions)
    args = [F.col(f"c{index}") for index in used]
    column = arrow_function(context.ship(task, _WHAT), args, spark_schema(task.results), once)
    names = [f"{_COMPUTED}.c{index}" for index in range(len(task.expressions))]
    return Part.of_frame(part.frame.select("*", column.alias(_COMPUTED))), names


def behind(part: Part, task: ColumnsTask, used: Sequence[int], context: Context) -> tuple[Part, list[str]]:
    """The rows with one more column for each expression, computed in the Python function that makes the rows, and the
    names of these columns."""
    rows = part.known_python
    made = _beside(rows, task, used, context)
    return Part.of_python(made), [f"c{at}" for at in range(len(rows.schema.fields), len(made.schema.fields))]


def _beside(rows: FromPython, task: ColumnsTask, used: Sequence[int], context: Context) -> FromPython:
    types = [*(field.dataType for field in rows.schema.fields), *map(spark_type, task.results)]
    return rows.then(Beside(task, tuple(used)), numbered_schema(types), partial(context.ship, what=_WHAT))


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
    """the types of the columns that the task gets; the expressions refer to these columns by position"""
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
    """Appends to each batch the columns that ``task`` computes from the columns at ``places``."""

    task: ColumnsTask
    places: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch, made in _beside_each(batches, self.task, self.places):
            columns = [*batch.columns, *made.flatten()]
            yield outgoing(pa.RecordBatch.from_arrays(columns, [f"c{at}" for at in range(len(columns))]))


def _beside_each(
    batches: Iterable[pa.RecordBatch], task: ColumnsTask, places: Sequence[int]
) -> Iterator[tuple[pa.RecordBatch, pa.StructArray]]:
    """Each batch that has rows, with what the task makes of its columns at these places."""
    waiting: deque[pa.RecordBatch] = deque()

    def arguments() -> Iterator[list[pa.Array]]:
        for batch in batches:
            if batch.num_rows:
                waiting.append(batch)
                yield [batch.column(place) for place in places or (0,)]

    for made in task(arguments()):
        yield waiting.popleft(), made


def struct_of(columns: Sequence[pa.Array], types: Sequence[DataType]) -> pa.Array:
    """One struct column of the given columns, with fields c0, c1, ... cast to these types."""
    fields = [pa.field(f"c{index}", arrow_type(each)) for index, each in enumerate(types)]
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in zip(columns, fields)]
    return pa.StructArray.from_arrays(cast, fields=fields)


_SIX = 6


def names(count: int, start: int = 0) -> list[str]:
    """The column names c0, c1, ..., or from another number on."""
    return [f"c{index}" for index in range(start, start + count)]


def types_of(schema: Schema) -> list[DataType]:
    return [column.type for column in schema]


def typed(frame: DataFrame, schema: Schema) -> DataFrame:
    """Columns c0, c1, ... of a frame cast where Spark found another type than the plan says."""
    texts = []
    changed = False
    for index, (found, wanted) in enumerate(zip(frame.schema.fields, types_of(schema), strict=True)):
        spark = spark_type(wanted)
        same = same_type(found.dataType, spark)
        texts.append(found.name if same else f"CAST({found.name} AS {ddl(spark)})")
        changed |= texts[-1] != f"c{index}"
    return frame.selectExpr(*numbered(texts)) if changed else frame


def typed_texts(texts: Sequence[str], found: Sequence[DataType | None], schema: Schema) -> list[str]:
    """Columns c0, c1, ... of the types that the plan says.

    :param found: what is known of the texts' types; None: nothing, Spark may find another one.
    """
    pairs = zip(texts, found, types_of(schema), strict=True)
    return numbered(cast_text(text, kind, wanted) for text, kind, wanted in pairs)


def retyped(part: Part, found: Sequence[DataType], wanted: Schema) -> Part:
    """Cast columns of the types ``found`` to those that the schema says, where they differ."""
    texts = typed_texts(names(len(found)), found, wanted)
    return part if texts == names(len(found)) else part.select(texts)


def cut_times(part: Part, schema: Schema, context: Context) -> Part:
    """Cut the times of a frame from outside, which have six digits of a second, to the precision that the schema
    says."""
    types = types_of(schema)
    full = [_with_six_digits(kind) for kind in types]
    if full == types:
        return part
    refs = [Ref(kind, place) for place, kind in enumerate(full)]
    cut = [ref if ref.type == kind else Call(kind, "CAST", (ref,)) for ref, kind in zip(refs, types)]
    computed = compute(part, cut, full, context)
    return computed.part.select(typed_texts(computed.texts, computed.types, schema))


def _with_six_digits(kind: DataType) -> DataType:
    short = isinstance(kind, (TimeType, TimestampType, LocalZonedTimestampType)) and kind.precision < _SIX
    return type(kind)(_SIX, kind.is_nullable) if short else kind  # type: ignore[call-arg,arg-type]


def projected(
    part: Part, expressions: Sequence[Rex], types: Sequence[DataType], columns: Schema, context: Context
) -> Part:
    """Computed columns.

    :param types: of the columns of the rows.
    :param columns: what the plan says of the computed ones.
    """
    same_types = all(arrow_type(each.type) == arrow_type(column.type) for each, column in zip(expressions, columns))
    if same_types and part.python is not None and any(spark_text(each) is None for each in expressions):
        return Part.of_python(in_python(part.python, expressions, types, context))
    computed = compute(part, expressions, types, context)
    made = computed.part.select(typed_texts(computed.texts, computed.types, columns))
    if not same_types:
        return made
    return made.or_in_python(lambda rows: in_python(rows, expressions, types, context), part)


def filtered(part: Part, condition: Rex, types: Sequence[DataType], context: Context) -> Part:
    """The rows for which the condition is TRUE. What Spark can check is checked before the rest.

    Rows that Python makes are compared there: a row that is dropped costs less than one that goes to Spark.
    """
    by_spark = []
    texts = []
    rest = []
    parts = conjuncts(condition)
    if len(parts) > MOST_PARTS // 4 and spark_text(condition) is None:
        parts = [condition]
    for each in parts:
        text = spark_text(each)
        if text is None:
            rest.append(each)
        else:
            by_spark.append(each)
            texts.append(text)
    if texts:
        if all(map(_only_compares, by_spark)) and part.python is not None:
            part = Part.of_python(_kept_by_python(part.python, by_spark, types, context))
        else:
            checked = part.where(texts)
            part = checked.or_in_python(lambda rows: _kept_by_python(rows, by_spark, types, context), part)
    if not rest:
        return part
    if part.python is not None:
        return Part.of_python(_kept_by_python(part.python, rest, types, context))
    computed = compute(part, rest, types, context)
    return computed.part.where(computed.texts).select(names(len(types)))


_COMPARING = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", "BETWEEN", "IS NULL", "IS NOT NULL", "AND", "OR", "NOT"})


def _only_compares(condition: Rex) -> bool:
    """Whether a condition compares columns and constants only, which is cheap for whole columns."""
    return all(
        isinstance(part, (Ref, Literal)) or (isinstance(part, Call) and part.function in _COMPARING)
        for part in walk(condition)
    )


def _kept_by_python(
    rows: FromPython, conditions: Sequence[Rex], types: Sequence[DataType], context: Context
) -> FromPython:
    tasks = [columns_task([each], types, context) for each in conditions]
    kept = Kept(tuple((task, tuple(used)) for task, used in tasks))
    return rows.then(kept, rows.schema, partial(context.ship, what=_WHAT))


@dataclass(frozen=True)
class Kept:
    """Keeps the rows of each batch for which all conditions are TRUE, each of which is computed only for the rows that
    are left by those before."""

    conditions: tuple[tuple[ColumnsTask, tuple[int, ...]], ...]
    """a condition, and the places of its columns"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task, places in self.conditions:
            batches = _those(batches, task, places)
        yield from batches


def _those(batches: Iterable[pa.RecordBatch], task: ColumnsTask, places: Sequence[int]) -> Iterator[pa.RecordBatch]:
    for batch, made in _beside_each(batches, task, places):
        kept = batch.filter(made.field(0))
        if kept.num_rows:
            yield kept


def ordered(text: str, key: SortKey) -> Column:
    """A text as a column to sort by."""
    column = F.expr(text)
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def order_text(text: str, key: SortKey) -> str:
    """A text as an item of ORDER BY."""
    return f"{text} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
