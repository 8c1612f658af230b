"""Expressions give what Flink's own tests of functions and expressions expect: types, values and failures."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.flink.asking import Asked, batched
from tests.flink.suites.known import known
from tests.flink.suites.running import Left, Planned, difference, in_streaming, planned, values
from tests.rings import taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTS = ("functions", "expressions")
EXECUTED, AS_FLINK = 6_960, 6_750
"""at least, of those that are found"""
LEFT = {
    "functions in Java": 60,
    "values of Java's classes": 61,
    "types of Java's classes": 10,
    "a key of a MAP cannot be NULL in Arrow": 3,
    "mistakes that Java's API refuses while a test is written": 2,
    "the Table API in Python has no such word, in PyFlink neither": 70,
    "table.exec.legacy-cast-behaviour = ENABLED is refused: casts follow the rules of Flink 1.15 and later; nearest: "
    "TRY_CAST": 1,
    "the recorder could not read it": 0,
}
"""why a case cannot be asked, and how many at most"""


@cache
def streamed(part: str) -> dict[str, list[Any] | str]:
    return values([each for each in planned(part) if _is_run(each)], in_streaming)


def _is_run(found: object) -> bool:
    """Whether something has to run to see whether it is as Flink's: not where Flink refuses the plan."""
    return isinstance(found, Planned) and found.case.fails != "plan"


def differences(part: str, given: dict[str, list[Any] | str]) -> dict[str, str]:
    """What is not as Flink's tests expect, by key."""
    asked = [each for each in planned(part) if not isinstance(each, Left)]
    told = {each.case.key: difference(each, given.get(each.case.key, "")) for each in asked}
    return {key: text for key, text in told.items() if text}


@pytest.mark.parametrize("part", PARTS)
def test_in_streaming(part: str) -> None:
    found = differences(part, streamed(part))
    others = [f"{key} {text}" for key, text in found.items() if key not in known(part)]
    assert not others, "\n".join(others)
    same = [key for key in known(part) if key not in found]
    assert not same, "as Flink's: take out of the list of known differences\n" + "\n".join(same)


@pytest.mark.spark
@pytest.mark.parametrize("part", PARTS)
def test_in_batch(part: str, spark: SparkSession) -> None:
    asked = [each for each in planned(part) if isinstance(each, Planned) and not each.case.fails]
    asked = taken(asked, 6, lambda each: each.case.key)
    given = values([each for each in asked if each.case.key not in known(part)], partial(on_spark, spark=spark))
    told = {each.case.key: difference(each, given[each.case.key]) for each in asked if each.case.key in given}
    others = [f"{key} {text}" for key, text in told.items() if text and key not in known("batch")]
    assert not others, "\n".join(others)


def on_spark(asked: Asked, spark: SparkSession) -> list[list[Any]]:
    return batched(asked, spark, asked.environment.get_config().get_local_timezone())


def test_how_many_there_are() -> None:
    executed = sum(not isinstance(each, Left) for part in PARTS for each in planned(part))
    assert executed >= EXECUTED
    assert executed - sum(len(known(part)) for part in PARTS) >= AS_FLINK


def test_why_others_are_left() -> None:
    left = Counter(each.why for part in PARTS for each in planned(part) if isinstance(each, Left))
    assert {why: count for why, count in left.items() if count > LEFT.get(why, 0)} == {}
