"""ORDER BY and LIMIT of streams, against sorted lists."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import check, check_table, harness, schema, table_of

from millrace.relational.rex import Ref, SortKey
from millrace.relational.types import BigIntType, TimestampType
from millrace.runtime.tables.ordering.bounded_sort import BoundedSort
from millrace.runtime.tables.ordering.limit import Limit
from millrace.runtime.tables.ordering.temporal_sort import TemporalSort
from millrace.testing import Element, EndInput, ProcessingTime, WatermarkStep

INPUT = schema(TimestampType(3), BigIntType())
START = datetime(2026, 5, 1)
ORIGIN = int((START - datetime(1970, 1, 1)) / timedelta(milliseconds=1))
TIME, NUMBER = SortKey(Ref(TimestampType(3), 0)), SortKey(Ref(BigIntType(), 1), True, False)
"""by time, then the largest number first and NULL last"""
quiet = settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))

numbers = st.none() | st.integers(0, 3)
limits = st.tuples(st.integers(0, 2), st.none() | st.integers(0, 4))


def row(time: int, number: int | None) -> tuple[Any, ...]:
    return START + timedelta(milliseconds=time), number


def down(number: int | None) -> int:
    return 1 if number is None else -number


def cut(rows: list[Any], limit: tuple[int, int | None]) -> list[Any]:
    offset, fetch = limit
    return rows[offset : None if fetch is None else offset + fetch]


@quiet
@given(
    events=st.lists(st.tuples(st.integers(0, 9), numbers) | st.integers(0, 9), max_size=14),
    limit=limits,
)
def test_by_event_time(events: list[Any], limit: tuple[int, int | None]) -> None:
    """A row is late once one of its time or of a later one has left."""
    script: list[Any] = []
    waiting: list[Any] = []
    left: list[Any] = []
    watermark = -1
    for event in [*events, 10]:
        if not isinstance(event, int):
            script.append(Element(("+I", *row(*event))))
            if not left or event[0] > left[-1][0]:
                waiting.append(event)
            continue
        script.append(WatermarkStep(ORIGIN + event))
        if event > watermark:
            watermark = event
            due = [each for each in waiting if each[0] <= watermark]
            waiting = [each for each in waiting if each[0] > watermark]
            left += sorted(due, key=lambda event: (event[0], down(event[1])))
    config = TemporalSort(input=INPUT, keys=(TIME, NUMBER), offset=limit[0], fetch=limit[1])
    expected = cut(left, limit)
    found = check(config, (INPUT,), [*script, EndInput()], random_runs=1)
    assert found == [("+I", *row(*event)) for event in expected]


@quiet
@given(events=st.lists(st.tuples(st.integers(0, 1), numbers), max_size=8))
def test_by_processing_time(events: list[Any]) -> None:
    script: list[Any] = []
    arrived = []
    now = 0
    for pause, number in events:
        now += pause
        script += [ProcessingTime(now), Element(("+I", *row(5, number)))]
        arrived.append((now, number))
    config = TemporalSort(input=INPUT, keys=(TIME, NUMBER), event_time=False)
    found = check(config, (INPUT,), [*script, EndInput()], random_runs=1)
    expected = sorted(arrived, key=lambda event: (event[0], down(event[1])))
    assert found == [("+I", *row(5, number)) for _, number in expected]


def test_by_processing_time_alone_rows_pass() -> None:
    config = TemporalSort(input=INPUT, keys=(TIME,), event_time=False)
    with harness(config, INPUT) as run:
        run.process_elements([(("+I", *row(9, 1)), None), (("+I", *row(3, 2)), None)])
        assert run.values == [("+I", *row(9, 1)), ("+I", *row(3, 2))]


@pytest.mark.parametrize("keys", [(NUMBER, TIME), (SortKey(TIME.expression, True),), ()])
def test_other_orders_need_an_end(keys: tuple[SortKey, ...]) -> None:
    if keys[:1] == (NUMBER,):
        keys = (SortKey(Ref(BigIntType(), 1), True),)
    with pytest.raises(NotImplementedError, match="other orders need a LIMIT, or batch mode"):
        harness(TemporalSort(input=INPUT, keys=keys), INPUT)


@st.composite
def changes(draw: Any) -> list[Any]:
    present: Counter[Any] = Counter()
    script = []
    for _ in range(draw(st.integers(0, 12))):
        there = sorted(present.elements(), key=repr)
        if there and draw(st.booleans()):
            gone = draw(st.sampled_from(there))
            present[gone] -= 1
            script.append(Element(("-D", *row(*gone))))
        else:
            new = (draw(st.integers(0, 2)), draw(numbers))
            present[new] += 1
            script.append(Element(("+I", *row(*new))))
    return script


@quiet
@given(script=changes(), limit=limits)
def test_at_the_end_of_the_input(script: list[Any], limit: tuple[int, int | None]) -> None:
    config = BoundedSort(input=INPUT, keys=(NUMBER, TIME), offset=limit[0], fetch=limit[1])
    found = check(config, (INPUT,), [*script, EndInput()], random_runs=1)
    left = list(table_of(step.value for step in script).elements())
    expected = cut(sorted(left, key=lambda each: (down(each[1]), each[0])), limit)
    assert found == [("+I", *each) for each in expected]


@quiet
@given(script=changes(), limit=limits)
def test_limit_of_changes(script: list[Any], limit: tuple[int, int | None]) -> None:
    config = Limit(input=INPUT, offset=limit[0], fetch=limit[1], updating=True)
    table = check_table(config, (INPUT,), script)
    left = table_of(step.value for step in script)
    assert table <= left and table.total() == len(cut(list(left.elements()), limit))


def test_a_row_moves_up_when_one_before_it_goes() -> None:
    with harness(Limit(input=INPUT, offset=1, fetch=1, updating=True), INPUT) as run:
        for kind, number in [("+I", 1), ("+I", 2), ("+I", 3), ("-D", 1), ("-D", 3)]:
            run.process_element((kind, *row(0, number)))
        changes = [("+I", 2), ("-D", 2), ("+I", 3), ("-D", 3)]
        assert run.values == [(kind, *row(0, number)) for kind, number in changes]


@quiet
@given(values=st.lists(numbers, max_size=8), limit=limits)
def test_limit_of_insertions(values: list[Any], limit: tuple[int, int | None]) -> None:
    script = [Element(("+I", *row(0, number))) for number in values]
    found = check(Limit(input=INPUT, offset=limit[0], fetch=limit[1]), (INPUT,), script, random_runs=1)
    assert found == [("+I", *row(0, number)) for number in cut(values, limit)]
