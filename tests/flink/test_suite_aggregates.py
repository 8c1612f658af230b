"""Aggregate functions give what Flink's own tests expect, of tables whose rows change."""

from __future__ import annotations

import pytest
from tests.flink.suites.aggregates import AggregateCase, aggregate_cases, difference, left
from tests.flink.suites.known import known

CASES = [case for case in aggregate_cases() if not left(case)]
EXECUTED, AS_FLINK = 86, 71


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_in_streaming(case: AggregateCase) -> None:
    told = difference(case)
    if case.key in known("aggregates"):
        assert told, "is as Flink's: take it out of the list of known differences"
    else:
        assert not told, told


def test_how_many_there_are() -> None:
    assert known("aggregates").keys() <= {case.key for case in CASES}
    assert len(CASES) >= EXECUTED
    assert len(CASES) - len(known("aggregates")) >= AS_FLINK
