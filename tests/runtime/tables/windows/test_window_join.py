"""Window joins against nested loops over each window."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import both, check, equal, harness, less, schema, table_of

from millrace.relational.rex import Ref
from millrace.relational.types import BigIntType, TimestampType
from millrace.runtime.tables.windows.window_join import WindowJoin
from millrace.testing import Element, EndInput, WatermarkStep

SIDE = schema(BigIntType(), BigIntType(), TimestampType(3), TimestampType(3))
"""key, number, window_start, window_end"""
CONDITION = both(equal(Ref(BigIntType(), 0), Ref(BigIntType(), 4)), less(Ref(BigIntType(), 1), Ref(BigIntType(), 5)))
START = datetime(1970, 1, 1)

numbers = st.none() | st.integers(0, 2)


def row(key: int | None, number: int | None, window: int) -> tuple[Any, ...]:
    begin = START + timedelta(seconds=10 * window)
    return key, number, begin, begin + timedelta(seconds=10)


rows = st.builds(row, numbers, numbers, st.integers(0, 2))
scripts = st.lists(
    st.tuples(st.integers(0, 1), rows) | st.integers(0, 3).map(lambda window: 10_000 * window - 1), max_size=16
)


def config(kind: str, **settings: Any) -> WindowJoin:
    return WindowJoin(
        kind=kind, left=SIDE, right=SIDE, condition=CONDITION, left_window=(2, 3), right_window=(2, 3), **settings
    )


def matches(one: Any, other: Any) -> bool:
    return one[2:] == other[2:] and None not in (one[0], one[1], other[1]) and one[0] == other[0] and one[1] < other[1]


def expected(kind: str, left: list[Any], right: list[Any]) -> Counter[Any]:
    nothing = (None,) * 4
    lonely = [one for one in left if not any(matches(one, other) for other in right)]
    if kind == "ANTI":
        return Counter(lonely)
    if kind == "SEMI":
        return Counter(left) - Counter(lonely)
    found = [one + other for one, other in product(left, right) if matches(one, other)]
    if kind in ("LEFT", "FULL"):
        found += [one + nothing for one in lonely]
    if kind in ("RIGHT", "FULL"):
        found += [nothing + other for other in right if not any(matches(one, other) for one in left)]
    return Counter(found)


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]), events=scripts)
def test_joins_each_window_and_drops_late_rows(kind: str, events: list[Any]) -> None:
    script: list[Any] = []
    kept: list[list[Any]] = [[], []]
    watermark = -1
    for event in events:
        if isinstance(event, int):
            watermark = max(watermark, event)
            script += [WatermarkStep(event, 0), WatermarkStep(event, 1)]
        else:
            side, values = event
            script.append(Element(("+I", *values), None, side))
            if (values[3] - START) / timedelta(milliseconds=1) - 1 > watermark:
                kept[side].append(values)
    found = check(config(kind), (SIDE, SIDE), [*script, EndInput()], ordered=False, random_runs=1)
    assert table_of(found) == expected(kind, *kept)


def test_a_window_fires_with_its_last_millisecond() -> None:
    with harness(config("INNER"), SIDE, SIDE) as run:
        run.process_element(("+I", *row(1, 1, 0)), input=0)
        run.process_element(("+I", *row(1, 2, 0)), input=1)
        for input in (0, 1):
            run.process_watermark(9_998, input)
        assert run.values == []
        for input in (0, 1):
            run.process_watermark(9_999, input)
        assert run.values == [("+I", *row(1, 1, 0), *row(1, 2, 0))]
        run.process_element(("+I", *row(1, 1, 0)), input=0)
        assert run.counter("numLateRecordsDropped") == 1


def test_windows_of_local_time_end_in_the_zone_of_the_session() -> None:
    with harness(config("INNER", zone="Asia/Shanghai"), SIDE, SIDE) as run:
        run.process_element(("+I", *row(1, 1, 0)), input=0)
        run.process_element(("+I", *row(1, 2, 0)), input=1)
        eight_hours = 8 * 3_600_000
        for input in (0, 1):
            run.process_watermark(9_998 - eight_hours, input)
        assert run.values == []
        for input in (0, 1):
            run.process_watermark(9_999 - eight_hours, input)
        assert len(run.values) == 1
