"""Temporal joins against a search through all versions."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import both, check, equal, harness, less, schema, table_of

from millrace.relational.rex import Ref, Rex
from millrace.relational.types import BigIntType, TimestampType
from millrace.runtime.tables.joins.temporal_config import TemporalJoin
from millrace.testing import Element, EndInput, ProcessingTime, WatermarkStep

LEFT = schema(BigIntType(), BigIntType(), TimestampType(3))
"""key, number, time"""
RIGHT = schema(BigIntType(), BigIntType(), TimestampType(3))
KEY = equal(Ref(BigIntType(), 0), Ref(BigIntType(), 3))
SMALLER = less(Ref(BigIntType(), 1), Ref(BigIntType(), 4))
START = datetime(2026, 5, 1)
ORIGIN = int((START - datetime(1970, 1, 1)) / timedelta(milliseconds=1))


def at(time: int) -> datetime:
    return START + timedelta(milliseconds=time)


def config(kind: str, condition: Rex = KEY, event_time: bool = True, **settings: Any) -> TemporalJoin:
    return TemporalJoin(
        kind=kind,
        left=LEFT,
        right=RIGHT,
        condition=condition,
        left_time=2,
        right_time=2 if event_time else None,
        right_key=(0,),
        **settings,
    )


keys, times = st.none() | st.integers(0, 2), st.integers(0, 9)
left_rows = st.tuples(st.just(0), st.just("+I"), keys, st.integers(0, 2), times)
right_rows = st.tuples(st.just(1), st.sampled_from(["+I", "+U", "-U", "-D"]), keys, st.integers(0, 2), times)


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["INNER", "LEFT"]),
    more=st.booleans(),
    rows=st.lists(left_rows | right_rows, max_size=14),
    watermarks=st.lists(st.integers(0, 9), max_size=4),
)
def test_each_row_meets_the_version_of_its_time(kind: str, more: bool, rows: list[Any], watermarks: list[int]) -> None:
    # In the order of time, so nothing is late, whatever the watermarks are; ties in any order.
    rows = sorted(rows, key=lambda row: row[4])
    script: list[Any] = []
    for watermark, following in zip([*sorted(watermarks), 10], [-1, *sorted(watermarks)]):
        for side, change, key, number, time in rows:
            if following < time <= watermark:
                script.append(Element((change, key, number, at(time)), None, side))
        script += [WatermarkStep(ORIGIN + watermark, side) for side in (0, 1)]
    condition = both(KEY, SMALLER) if more else KEY
    found = check(config(kind, condition), (LEFT, RIGHT), [*script, EndInput()], ordered=False, random_runs=1)

    versions = [row[1:] for row in rows if row[0] == 1 and row[1] != "-U"]
    expected: Counter[Any] = Counter()
    for _, _, key, number, time in [row for row in rows if row[0] == 0]:
        known = [version for version in versions if key is not None and version[1] == key and version[3] <= time]
        last = max(reversed(known), key=lambda version: version[3], default=None)
        one = (key, number, at(time))
        if last is not None and last[0] != "-D" and (not more or number < last[2]):
            expected[(*one, last[1], last[2], at(last[3]))] += 1
        elif kind == "LEFT":
            expected[(*one, None, None, None)] += 1
    assert table_of(found) == expected


def test_versions_that_nobody_can_ask_for_are_removed() -> None:
    with harness(config("INNER"), LEFT, RIGHT) as run:
        for time in (1, 2, 8):
            run.process_element(("+I", 1, time, at(time)), input=1)
        for side in (0, 1):
            run.process_watermark(ORIGIN + 5, side)
        run.process_element(("+I", 1, 9, at(9)), input=1)
        assert sorted(run.state_of((1,), "right")) == [ORIGIN + time for time in (2, 8, 9)]
        run.process_element(("-D", 1, 9, at(9)), input=1)
        for side in (0, 1):
            run.process_watermark(ORIGIN + 9, side)
        run.process_element(("-D", 1, 9, at(9)), input=1)
        assert run.state_of((1,), "right") is None


def test_a_late_row_meets_what_is_left_at_the_next_watermark() -> None:
    with harness(config("LEFT"), LEFT, RIGHT) as run:
        run.process_element(("+I", 1, 7, at(1)), input=1)
        for side in (0, 1):
            run.process_watermark(ORIGIN + 5, side)
        run.process_element(("+I", 1, 0, at(2)), input=0)
        assert run.values == []
        for side in (0, 1):
            run.process_watermark(ORIGIN + 6, side)
        assert run.values == [("+I", 1, 0, at(2), 1, 7, at(1))]


def test_processing_time_sees_the_newest_version() -> None:
    script = [
        Element(("+I", 1, 0, at(0)), None, 0),
        Element(("+I", 1, 5, at(0)), None, 1),
        Element(("+I", None, 6, at(0)), None, 1),
        Element(("+I", 1, 1, at(0)), None, 0),
        Element(("-U", 1, 5, at(0)), None, 1),
        Element(("+U", 1, 6, at(0)), None, 1),
        Element(("+U", 1, 2, at(0)), None, 0),
        Element(("+I", None, 2, at(0)), None, 0),
        Element(("-D", 1, 6, at(0)), None, 1),
        Element(("+I", 1, 3, at(0)), None, 0),
    ]
    expected = [
        ("+I", 1, 0, at(0), None, None, None),
        ("+I", 1, 1, at(0), 1, 5, at(0)),
        ("+U", 1, 2, at(0), 1, 6, at(0)),
        ("+I", None, 2, at(0), None, None, None),
        ("+I", 1, 3, at(0), None, None, None),
    ]
    assert check(config("LEFT", event_time=False), (LEFT, RIGHT), script) == expected
    inner = [change for change in expected if change[4] is not None]
    assert check(config("INNER", event_time=False), (LEFT, RIGHT), script) == inner


def test_a_version_lives_as_long_as_it_is_used() -> None:
    script: list[Any] = [Element(("+I", 1, 5, at(0)), None, 1)]
    for now in (600, 1200, 2300):
        script += [ProcessingTime(now), Element(("+I", 1, 0, at(0)), None, 0)]
    found = check(config("LEFT", event_time=False, state_ttl=1000), (LEFT, RIGHT), script)
    assert [change[4] for change in found] == [1, 1, None]


def test_the_condition_must_have_the_key() -> None:
    with pytest.raises(ValueError, match="every column of the right table's primary key"):
        _ = config("INNER", SMALLER).equal
