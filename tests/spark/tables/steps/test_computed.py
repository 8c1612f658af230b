"""Columns and conditions over rows that a Python function makes: whoever reads them in Python gets them from there,
whoever reads them in Spark from Spark, and both get the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.tables.plans import BIGINT, fn, lit

from millrace.relational import nodes as n
from millrace.relational.rex import Ref, Rex
from millrace.spark.tables.steps.computed import filtered, projected
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.spark_types import spark_schema
from millrace.spark.tables.steps.sql_text import spark_text

pytestmark = pytest.mark.spark

C0, C1 = Ref(BIGINT, 0), Ref(BIGINT, 1)
TYPES = [BIGINT, BIGINT]
NUMBERS = range(-500, 500)
PAIRS = [(number, None if number % 7 == 0 else number % 5) for number in NUMBERS]


def pairs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        found = [None if number % 7 == 0 else number % 5 for number in numbers]
        yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(found, pa.int64())], ["c0", "c1"])


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def made_in_python(context: Context) -> Part:
    frame = context.session.range(NUMBERS.start, NUMBERS.stop, 1, 2).toDF("c0")
    return Part.of_frame(frame).in_python(pairs, spark_schema(TYPES), partial(context.ship, what="pairs"))


def read_in_python(part: Part, context: Context) -> Part:
    return part.in_python(same, spark_schema(TYPES), partial(context.ship, what="rows"))


def steps(part: Part) -> list[str]:
    """The steps of Spark from the last to the first that is Python's."""
    plan = part.frame._jdf.queryExecution().executedPlan().toString()
    plan = plan[: plan.rindex("MapInArrow ") + len("MapInArrow ")]
    return [name for name in ("MapInArrow", "Project", "Filter") for _ in range(plan.count(f"{name} "))]


def rows(part: Part) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in part.frame.collect()), key=repr)


def calculated(part: Part, condition: Rex, context: Context, *expressions: Rex) -> Part:
    columns = tuple(n.Field(f"x{at}", each.type) for at, each in enumerate(expressions))
    return projected(filtered(part, condition, TYPES, context), expressions, TYPES, columns, context)


SUM = fn("+", C0, C1)
SMALL = fn("<", fn("ABS", C0), lit(400))
WANTED = sorted(((b, None if b is None else a + b) for a, b in PAIRS if abs(a) < 400), key=repr)


def test_what_python_reads_stays_there(context: Context) -> None:
    assert all(spark_text(each) is not None for each in (SUM, SMALL))
    part = read_in_python(calculated(made_in_python(context), SMALL, context, C1, SUM), context)
    assert steps(part) == ["MapInArrow"]
    assert rows(part) == WANTED


def test_what_spark_reads_is_computed_by_spark(context: Context) -> None:
    part = calculated(made_in_python(context), SMALL, context, C1, SUM)
    assert set(steps(part)) == {"MapInArrow", "Project", "Filter"}
    assert rows(part) == WANTED


def test_rows_are_compared_where_they_are_made(context: Context) -> None:
    condition = fn("AND", fn(">", C0, lit(3, BIGINT)), fn("=", C1, lit(2, BIGINT)))
    kept = filtered(made_in_python(context), condition, TYPES, context)
    assert steps(kept) == ["MapInArrow"]
    assert rows(kept) == sorted(((a, b) for a, b in PAIRS if a > 3 and b == 2), key=repr)


def test_what_others_read_too_is_computed_by_spark_once(context: Context) -> None:
    part = calculated(made_in_python(context), SMALL, context, C1, SUM)
    part.keep_as_view()
    assert part.python is None
    assert rows(read_in_python(part, context)) == WANTED


@pytest.mark.parametrize("in_python", [False, True])
def test_a_condition_guards_those_behind_it(context: Context, in_python: bool) -> None:
    guarded = fn("AND", fn("<>", C1, lit(0)), fn(">", fn("/", C0, C1), lit(20)))
    kept = calculated(made_in_python(context), guarded, context, C0, C1)
    found = rows(read_in_python(kept, context) if in_python else kept)
    assert found == sorted(((a, b) for a, b in PAIRS if b and int(a / b) > 20), key=repr)


@pytest.mark.parametrize("in_python", [False, True])
def test_what_spark_lacks_is_computed_beside_the_rest(context: Context, in_python: bool) -> None:
    lacking = fn("-", fn("CHAR_LENGTH", fn("INITCAP", fn("REPEAT", lit("ab"), fn("ABS", C1)))), lit(1))
    assert spark_text(lacking) is None
    part = calculated(made_in_python(context), SMALL, context, C0, fn("+", lacking, lit(0, BIGINT)))
    found = rows(read_in_python(part, context) if in_python else part)
    assert found == sorted(((a, None if b is None else 2 * b - 1) for a, b in PAIRS if abs(a) < 400), key=repr)
