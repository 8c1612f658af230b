"""Aggregate functions give what Flink's own tests expect, of tables whose rows change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.flink.suites.aggregates import AggregateCase, aggregate_cases, difference, left
from tests.flink.suites.batch import aggregate_in_batch, leaves_a_table
from tests.flink.suites.known import known
from tests.rings import taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = [case for case in aggregate_cases() if not left(case)]
EXECUTED, AS_FLINK, IN_BATCH = 86, 71, 61
TAKEN_BACK = 10
"""cases at most that take rows back that are not there: they leave no table, which batch mode could read"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_in_streaming(case: AggregateCase) -> None:
    told = difference(case)
    if case.key in known("aggregates"):
        assert told, "is as Flink's: take it out of the list of known differences"
    else:
        assert not told, told


@pytest.mark.spark
def test_in_batch(spark: SparkSession) -> None:
    asked = [case for case in CASES if leaves_a_table(case) and case.key not in known("aggregates")]
    assert len(asked) >= IN_BATCH
    assert sum(not leaves_a_table(case) for case in CASES) <= TAKEN_BACK
    told = {case.key: aggregate_in_batch(case, spark) for case in taken(asked, 3, lambda case: case.key)}
    others = [f"{key} {text}" for key, text in told.items() if text]
    assert not others, "\n".join(others)


def test_how_many_there_are() -> None:
    assert known("aggregates").keys() <= {case.key for case in CASES}
    assert len(CASES) >= EXECUTED
    assert len(CASES) - len(known("aggregates")) >= AS_FLINK
