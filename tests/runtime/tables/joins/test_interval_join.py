"""Interval joins against nested loops."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import both, check, equal, harness, less, schema, table_of

from millrace.relational.rex import TRUE, Ref, Rex
from millrace.relational.types import BigIntType, TimestampType
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.joins.interval_join import IntervalJoin
from millrace.testing import Element, EndInput, ProcessingTime, Watermark, WatermarkStep

SIDE = schema(BigIntType(), BigIntType(), TimestampType(3))
"""key, number, time"""
KEY = equal(Ref(BigIntType(), 0), Ref(BigIntType(), 3))
SMALLER = less(Ref(BigIntType(), 1), Ref(BigIntType(), 4))
START = datetime(2026, 5, 1)
ORIGIN = int((START - datetime(1970, 1, 1)) / timedelta(milliseconds=1))
KINDS = ("INNER", "LEFT", "RIGHT", "FULL")
NOTHING = (None, None, None)


def row(key: int | None, number: int, time: int) -> tuple[Any, ...]:
    return key, number, START + timedelta(milliseconds=time)


def config(kind: str, lower: int = -2, upper: int = 1, **more: Any) -> IntervalJoin:
    settings = {"condition": both(KEY, SMALLER)} | more
    return IntervalJoin(
        kind=kind, left=SIDE, right=SIDE, left_time=2, right_time=2, lower=lower, upper=upper, **settings
    )


def expected(kind: str, left: list[Any], right: list[Any], lower: int, upper: int) -> Counter[Any]:
    def matches(one: Any, other: Any) -> bool:
        near = timedelta(milliseconds=lower) <= other[2] - one[2] <= timedelta(milliseconds=upper)
        return near and one[0] is not None and one[0] == other[0] and one[1] < other[1]

    found = [one + other for one, other in product(left, right) if matches(one, other)]
    if kind in ("LEFT", "FULL"):
        found += [one + NOTHING for one in left if not any(matches(one, other) for other in right)]
    if kind in ("RIGHT", "FULL"):
        found += [NOTHING + other for other in right if not any(matches(one, other) for one in left)]
    return Counter(found)


intervals = st.tuples(st.integers(-4, 4), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
rows = st.builds(row, st.none() | st.integers(0, 1), st.integers(0, 2), st.integers(0, 10))


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    interval=intervals,
    events=st.lists(st.tuples(st.integers(0, 1), rows), max_size=14),
    watermarks=st.lists(st.integers(0, 10), max_size=4),
)
def test_rows_in_time_meet_all_partners(
    kind: str, interval: tuple[int, int], events: list[Any], watermarks: list[int]
) -> None:
    bounds = [-1, *sorted(watermarks), 10]
    script: list[Any] = []
    for before, watermark in pairwise(bounds):
        first, last = (START + timedelta(milliseconds=time) for time in (before, watermark))
        script += [Element(("+I", *values), None, side) for side, values in events if first < values[2] <= last]
        script += [WatermarkStep(ORIGIN + watermark, side) for side in (0, 1)]
    found = check(config(kind, *interval), (SIDE, SIDE), [*script, EndInput()], ordered=False, random_runs=1)
    left, right = ([values for side, values in events if side == wanted] for wanted in (0, 1))
    assert table_of(found) == expected(kind, left, right, *interval)


def test_no_result_is_late_downstream() -> None:
    with harness(config("LEFT"), SIDE, SIDE) as run:
        run.process_element(("+I", *row(1, 0, 5)), input=0)
        for watermark in (6, 7):
            for side in (0, 1):
                run.process_watermark(ORIGIN + watermark, side)
        alone = ("+I", *row(1, 0, 5), *NOTHING)
        assert [getattr(item, "value", item) for item in run.output] == [
            Watermark(ORIGIN + 3),
            alone,
            Watermark(ORIGIN + 4),
        ]
        run.end_input()
        assert Watermark(MAX_WATERMARK) in run.output
        assert run.num_event_time_timers() == 0 and run.keys("left") == []


def test_late_rows() -> None:
    """They meet what is still there; without partner they are emitted at once."""
    with harness(config("FULL", -2, 1, condition=KEY), SIDE, SIDE) as run:
        run.process_element(("+I", *row(1, 0, 7)), input=0)
        for side in (0, 1):
            run.process_watermark(ORIGIN + 8, side)
        run.process_element(("+I", *row(1, 1, 5)), input=1)
        run.process_element(("+I", *row(1, 2, 4)), input=1)
        assert run.values == [("+I", *row(1, 0, 7), *row(1, 1, 5)), ("+I", *NOTHING, *row(1, 2, 4))]


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    events=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=10
    ),
)
def test_processing_time(kind: str, events: list[Any]) -> None:
    script: list[Any] = []
    arrived: list[list[Any]] = [[], []]
    now = 0
    for number, (side, key, value, pause) in enumerate(events):
        now += pause
        script += [ProcessingTime(now), Element(("+I", *row(key, 10 * value, number)), None, side)]
        arrived[side].append((row(key, 10 * value, number), row(key, 10 * value, now)))
    script.append(ProcessingTime(now + 10))
    found = check(config(kind, event_time=False), (SIDE, SIDE), script, ordered=False, random_runs=1)
    # The oracle joins by the times of arrival; these rows stand for those that were sent.
    sides = [[arrival for _, arrival in rows] for rows in arrived]
    as_arrived = {sent: arrival for rows in arrived for sent, arrival in rows}
    shown = Counter((as_arrived.get(each[:3], NOTHING) + as_arrived.get(each[3:], NOTHING)) for each in table_of(found))
    wanted = expected(kind, sides[0], sides[1], -2, 1)
    assert set(shown) == set(wanted)
    assert sum(table_of(found).values()) == sum(wanted.values())


@pytest.mark.draw(4)
@pytest.mark.parametrize("condition", [KEY, TRUE], ids=["by key", "all rows"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_on_both_media(kind: str, condition: Rex) -> None:
    """Keys with many rows, many watermarks, rows that are late and not, in a state that goes on and is rebuilt."""
    draw, bounds = random.Random(f"{kind} {condition}"), (-7, 12)
    sent: tuple[list[Any], list[Any]] = ([], [])
    script: list[Any] = []
    for watermark in range(0, 60, 6):
        for _ in range(12):
            side, values = draw.randrange(2), row(draw.choice([None, 1, 1, 1, 2, 3]), draw.randrange(3), 0)
            values = (*values[:2], START + timedelta(milliseconds=watermark + draw.randrange(1, 20)))
            sent[side].append(values)
            script.append(Element(("+I", *values), None, side))
        script += [WatermarkStep(ORIGIN + watermark, side) for side in (0, 1)]
    join = config(kind, *bounds, condition=condition)
    found = check(join, (SIDE, SIDE), [*script, EndInput()], ordered=False, random_runs=1, seed=draw.randrange(1_000))

    def matches(one: Any, other: Any) -> bool:
        distance = (other[2] - one[2]) / timedelta(milliseconds=1)
        same = condition == TRUE or (one[0] is not None and one[0] == other[0])
        return same and bounds[0] <= distance <= bounds[1]

    pairs = [one + other for one, other in product(*sent) if matches(one, other)]
    if kind in ("LEFT", "FULL"):
        pairs += [one + NOTHING for one in sent[0] if not any(matches(one, other) for other in sent[1])]
    if kind in ("RIGHT", "FULL"):
        pairs += [NOTHING + other for other in sent[1] if not any(matches(one, other) for one in sent[0])]
    assert table_of(found) == Counter(pairs)


def test_timers_of_an_earlier_version_go() -> None:
    with harness(config("LEFT"), SIDE, SIDE) as run:
        run.process_element(("+I", *row(1, 0, 5)), input=0)
        snapshot = run.snapshot()
    following = run.fresh()
    assert snapshot and following.operator.keyed_state() is not None
    following.operator.keyed_state().event_timers.register(ORIGIN + 7, (1,))
    with following.restore(snapshot).open():
        assert following.num_event_time_timers() == 0
        for side in (0, 1):
            following.process_watermark(ORIGIN + 7, side)
        assert following.values == [("+I", *row(1, 0, 5), *NOTHING)]


def test_kinds_that_have_no_interval_join() -> None:
    with pytest.raises(NotImplementedError, match="SEMI interval join"):
        harness(config("SEMI"), SIDE, SIDE)
