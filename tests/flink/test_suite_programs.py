"""Programs of tables leave in their sinks what Flink's own tests expect."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.flink.suites.known import known
from tests.flink.suites.programs import difference, programs, submit

from millrace.datastream import StreamExecutionEnvironment

PROGRAMS = programs()
EXECUTED, AS_FLINK = 300, 250
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


def test_how_many_there_are() -> None:
    keys = {program.key for program in PROGRAMS if not program.left}
    assert known("programs").keys() <= keys
    assert len(keys) >= EXECUTED
    assert len(keys) - len(known("programs")) >= AS_FLINK


def test_why_others_are_left() -> None:
    left = Counter(program.left for program in PROGRAMS if program.left)
    assert {why: count for why, count in left.items() if count > LEFT.get(why, 0)} == {}
