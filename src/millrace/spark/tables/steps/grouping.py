"""GROUP BY of any node: the values of aggregate calls for groups of rows, by Spark where it computes the same, else by
Python from the rows of the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from millrace.relational.functions.aggregates.registry import Texts
from millrace.relational.rex import AggCall, Rex
from millrace.relational.types import DataType
from millrace.spark.tables.steps.computed import arrow_function, compute, names
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.finishing import FinishTask, FinishTasks, collected, collected_in_packs
from millrace.spark.tables.steps.partial_results import from_values
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.steps.spark_types import spark_schema, spark_type
from millrace.spark.tables.steps.sql_text import GROUPING, grouping_text, native_text

_PLACE = "place"
_MADE = "made"
"""The column of what Python makes."""


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
    found = from_values(part, keys, calls, prepared) if sets is None else None
    if found is not None:
        return found
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
    grouped = grouped_by(rows.part, rows.keys, sets, [text or each for text, each in zip(by_spark, rows.texts)])
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


def grouped_by(part: Part, keys: Sequence[str], sets: Sequence[Sequence[int]] | None, columns: Sequence[str]) -> Part:
    by = ", ".join(keys)
    if sets is not None:
        by += f" GROUPING SETS ({', '.join('(' + ', '.join(keys[at] for at in each) + ')' for each in sets)})"
    # Without keys there is one row, also where no value is wanted of it.
    values = [*columns] if keys or columns else ["count(1)"]
    return part.select(numbered([*keys, *values]), f"GROUP BY {by}" if by else "")
