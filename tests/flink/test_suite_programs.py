"""Programs of tables leave in their sinks what Flink's own tests expect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.flink.suites import batch
from tests.flink.suites.batch import in_batch, left_in_batch
from tests.flink.suites.known import known
from tests.flink.suites.programs import difference, programs, submit
from tests.rings import taken

from millrace.datastream import StreamExecutionEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAMS = programs()
EXECUTED, AS_FLINK, IN_BATCH = 310, 297, 225
BATCH_ONLY = {
    "TableSinkTestPrograms/sink-overwrite",
    "WindowTableFunctionTestPrograms/window-table-function-tumble-tvf-union-all",
}
"""known differences of streaming mode that batch mode has not"""
LEFT = {
    "functions in Java": 109,
    "models in Java": 11,
    "a search for vectors by a connector that is there for Flink's tests only": 3,
    "the recorder could not read it": 2,
    "temporal table functions, which the Table API in Python does not make": 1,
}
"""why a program cannot be run, and how many at most"""
LEFT_IN_BATCH = {
    batch.CHANGES: 21,
    batch.SOME_WINDOWS: 16,
    batch.WHICH: 15,
    batch.CLOCK: 8,
    batch.NO_WATERMARK: 3,
    batch.NO_TABLE: 3,
    batch.HALVES: 11,
}
"""why a program that runs in streaming mode has no meaning in batch mode, and how many at most"""


@pytest.mark.parametrize("suite", sorted({program.key.split("/")[0] for program in PROGRAMS}))
def test_in_streaming(suite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submit)
    wrong = []
    for program in taken(PROGRAMS, 4, lambda program: program.key):
        if program.left or program.key.split("/")[0] != suite:
            continue
        told = difference(program)
        if bool(told) != (program.key in known("programs")):
            wrong.append(f"{program.key} {told or 'is as Flink has it: take it out of the list'}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
def test_in_batch(spark: SparkSession) -> None:
    asked = [program for program in PROGRAMS if not program.left and not left_in_batch(program)]
    asked = [program for program in asked if program.key not in known("programs") or program.key in BATCH_ONLY]
    assert len(asked) >= IN_BATCH
    told = {program.key: in_batch(program, spark) for program in taken(asked, 6, lambda program: program.key)}
    others = [f"{key} {text}" for key, text in told.items() if text]
    assert not others, "\n".join(others)


def test_why_others_are_left_in_batch() -> None:
    left = Counter(left_in_batch(program) for program in PROGRAMS if not program.left and left_in_batch(program))
    assert {why: count for why, count in left.items() if count > LEFT_IN_BATCH.get(why, 0)} == {}


def test_how_many_there_are() -> None:
    keys = {program.key for program in PROGRAMS if not program.left}
    assert known("programs").keys() <= keys
    assert len(keys) >= EXECUTED
    assert len(keys) - len(known("programs")) >= AS_FLINK


def test_why_others_are_left() -> None:
    left = Counter(program.left for program in PROGRAMS if program.left)
    assert {why: count for why, count in left.items() if count > LEFT.get(why, 0)} == {}
