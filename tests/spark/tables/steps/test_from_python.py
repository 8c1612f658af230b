"""Functions of Python behind each other are one step of Spark, and give what they would give one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import types as s

from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.spark_types import numbered_schema

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Plus:
    """All columns of whole numbers, and the sum of them with a number."""

    number: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            added = batch.column(0)
            for column in [*batch.columns[1:], pa.scalar(self.number, pa.int64())]:
                added = pc.add(added, column)
            columns = [*batch.columns, added]
            yield pa.RecordBatch.from_arrays(columns, [f"c{at}" for at in range(len(columns))])


def numbers(context: Context) -> Part:
    return Part.of_frame(context.session.range(0, 20_000, 1, 2).toDF("c0"))


def plus(part: Part, number: int, context: Context) -> Part:
    schema = numbered_schema([*part.types, s.LongType()])
    return part.in_python(Plus(number), schema, partial(context.ship, what="a sum"))


def rows(part: Part) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in part.frame.collect())


def steps(part: Part) -> int:
    return int(part.frame._jdf.queryExecution().executedPlan().toString().count("MapInArrow"))


EXPECTED = [(n, n + 1, n + n + 1 + 2) for n in range(20_000)]


def test_they_are_one_step(context: Context) -> None:
    part = plus(plus(numbers(context), 1, context), 2, context)
    assert steps(part) == 1
    assert rows(part) == EXPECTED


def test_columns_are_picked_on_the_way(context: Context) -> None:
    part = plus(numbers(context), 1, context).select(["c1 AS c0", "c0 AS c1", "c1 AS c2"])
    assert steps(plus(part, 2, context)) == 1
    assert rows(part) == [(n + 1, n, n + 1) for n in range(20_000)]
    assert rows(plus(part, 2, context)) == [(n + 1, n, n + 1, 3 * n + 4) for n in range(20_000)]


@pytest.mark.parametrize("columns", [["c0", "c1 + 1 AS c1"], ["c0", "c1 AS c7"], ["c1", "c0"], ["c0 AS c0", "c1"]])
def test_other_columns_are_for_spark(context: Context, columns: list[str]) -> None:
    part = plus(numbers(context), 1, context)
    assert part.select(columns).python is None
    expected = part.frame.selectExpr(*columns).collect()
    assert sorted(part.select(columns).frame.collect()) == sorted(expected)


def test_conditions_are_for_spark(context: Context) -> None:
    part = plus(plus(numbers(context), 1, context).where(["c0 % 1000 = 7"]), 2, context)
    assert steps(part) == 2
    assert rows(part) == [row for row in EXPECTED if row[0] % 1_000 == 7]


def test_what_others_read_too_is_made_by_itself(context: Context) -> None:
    part = plus(numbers(context), 1, context)
    part.keep_as_view()
    assert steps(plus(part, 2, context)) == 2
    assert rows(plus(part, 2, context)) == EXPECTED


def test_fewer_partitions(context: Context) -> None:
    part = plus(plus(numbers(context), 1, context).coalesced(1), 2, context)
    assert (steps(part), part.frame.rdd.getNumPartitions()) == (1, 1)
    assert rows(part) == EXPECTED
    view = numbers(context).coalesced(1)
    assert view.frame.rdd.getNumPartitions() == 1
