"""Programs of tables leave in their sinks what Flink's own tests expect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.flink.asking import batched
from tests.flink.suites.known import known
from tests.flink.suites.programs import ZONE, batch_difference, difference, programs, query_of, submit

from millrace.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAMS = programs()
EXECUTED, AS_FLINK, IN_BATCH = 300, 250, 25
LEFT = {
    "functions in Java": 109,
    "models in Java": 11,
    "metadata of a connector that is there for Flink's tests only": 8,
    "a search for vectors by a connector that is there for Flink's tests only": 3,
    "the recorder could not read it": 2,
    "temporal table functions, which the Table API in Python does not make": 1,
}
"""why a program cannot be run, and how many at most"""


@pytest.mark.parametrize("suite", sorted({program.key.split("/")[0] for program in PROGRAMS}))
def test_in_streaming(suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submit)
    wrong = []
    for program in PROGRAMS:
        if program.left or program.key.split("/")[0] != suite:
            continue
        told = difference(program)
        if bool(told) != (program.key in known("programs")):
            wrong.append(f"{program.key} {told or 'is as Flink has it: take it out of the list'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
def test_in_batch(spark: SparkSession) -> None:
    asked = [program for program in PROGRAMS if query_of(program)]
    assert len(asked) >= IN_BATCH
    told = {program.key: batch_difference(program, lambda one: batched(one, spark, ZONE)) for program in asked}
    others = [f"{key} {text}" for key, text in told.items() if text]
    assert not others, "\n".join(others)


def test_how_many_there_are() -> None:
    keys = {program.key for program in PROGRAMS if not program.left}
    assert known("programs").keys() <= keys
    assert len(keys) >= EXECUTED
    assert len(keys) - len(known("programs")) >= AS_FLINK


def test_why_others_are_left() -> None:
    left = Counter(program.left for program in PROGRAMS if program.left)
    assert {why: count for why, count in left.items() if count > LEFT.get(why, 0)} == {}
