"""Queries of Flink's own tests that run give over the same rows what Flink gave."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.flink.asking import batched
from tests.flink.suites.known import known
from tests.flink.suites.queries import ZONE, batch_difference, differences, queries
from tests.rings import taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = queries()
SUITES = sorted({query.suite for query in QUERIES})
EXECUTED, AS_FLINK, IN_BATCH = 1_740, 1_645, 90
LEFT = {
    "functions in Java": 221,
    "the recorder could not read it": 110,
    "what Flink writes of the Table API in SQL is not what it reads": 28,
    "too many rows": 20,
    "metadata of a connector that is there for Flink's tests only": 16,
    "values of Java's classes": 11,
}
"""why a query cannot be asked, and how many at most"""


@pytest.mark.parametrize("suite", SUITES)
def test_in_streaming(suite: str) -> None:
    asked = [query for query in QUERIES if not query.left and query.suite == suite and query.in_streaming]
    wrong = [
        f"{key} {told or 'is as Flink has it: take it out of the list'}"
        for key, told in differences(taken(asked, 4, lambda query: query.key)).items()
        if bool(told) != (key in known("queries"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
def test_in_batch(spark: SparkSession) -> None:
    asked = [query for query in QUERIES if query.in_batch and not query.left]
    assert len(asked) >= IN_BATCH
    told = {
        query.key: batch_difference(query, lambda one: batched(one, spark, ZONE))
        for query in taken(asked, 3, lambda query: query.key)
    }
    wrong = [
        f"{key} {text or 'is as Flink has it: take it out of the list'}"
        for key, text in told.items()
        if bool(text) != (key in known("queries_batch"))
    ]
    assert not wrong, "\n".join(wrong)


def test_how_many_there_are() -> None:
    keys = {query.key for query in QUERIES if not query.left and query.in_streaming}
    assert known("queries").keys() <= keys
    assert len(keys) >= EXECUTED
    assert len(keys) - len(known("queries")) >= AS_FLINK


def test_why_others_are_left() -> None:
    left = Counter(query.left for query in QUERIES if query.left)
    assert {why: count for why, count in left.items() if count > LEFT.get(why, 0)} == {}
