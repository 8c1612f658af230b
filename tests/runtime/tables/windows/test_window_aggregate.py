"""Window aggregates against collecting the rows of every window, one row and watermark after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import (
    changes_of,
    check_table,
    element,
    few,
    harness,
    outcomes,
    rows_of,
    run,
    table_of,
)

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import AggCall, Literal, Ref
from millrace.relational.rows import DELETE, INSERT
from millrace.runtime.tables.windows.session_table import SessionTable
from millrace.runtime.tables.windows.window_aggregate import WindowAggregateOperator
from millrace.runtime.tables.windows.window_config import TimedWindows, WindowAggregate
from millrace.runtime.tables.windows.window_table import WindowTable
from millrace.testing import EndInput, ProcessingTime, Step, WatermarkStep

TYPES = (t.VarCharType(2), t.TimestampType(3), t.IntType())
NUMBER = Ref(TYPES[2], 2)
MIN = -(2**63)
Row = tuple[Any, ...]

MERGED: list[tuple[AggCall, Callable[[Sequence[Row]], Any]]] = [
    (aggregate_call("COUNT", ()), len),
    (aggregate_call("SUM", (NUMBER,)), lambda rows: sum(row[2] for row in rows)),
    (aggregate_call("MAX", (NUMBER,)), lambda rows: max(row[2] for row in rows)),
]
KEPT: list[tuple[AggCall, Callable[[Sequence[Row]], Any]]] = [
    (aggregate_call("COUNT", (NUMBER,), distinct=True), lambda rows: len({row[2] for row in rows})),
    (aggregate_call("COLLECT", (NUMBER,)), lambda rows: tuple(sorted(Counter(numbers(rows)).items()))),
    (aggregate_call("MIN", (NUMBER,)), lambda rows: min(row[2] for row in rows)),
]
LARGE = call(">", (NUMBER, Literal(TYPES[2], 1)))
VALUES: list[tuple[AggCall, Callable[[Sequence[Row]], Any]]] = [
    (aggregate_call("COUNT", (NUMBER,), distinct=True), lambda rows: len(set(numbers(rows)))),
    (aggregate_call("SUM", (NUMBER,)), lambda rows: sum(numbers(rows))),
    (aggregate_call("SUM", (NUMBER,), distinct=True, filter=LARGE), lambda rows: sum(large(rows)) or None),
    (aggregate_call("MIN", (NUMBER,)), lambda rows: min(numbers(rows))),
    (aggregate_call("COUNT", (Ref(TYPES[0], 0),), distinct=True), lambda rows: len({row[0] for row in rows} - {None})),
]
"""calls whose values are rows of key and value"""


def large(rows: Sequence[Row]) -> set[int]:
    return {number for number in numbers(rows) if number > 1}


def numbers(rows: Sequence[Row]) -> list[int]:
    return [row[2] for row in rows]


def at(ms: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)


def config(spec: WindowSpec, calls: Sequence[tuple[AggCall, Any]], **settings: Any) -> WindowAggregate:
    found = {"time": 1, "zoned": False, "properties": ("START", "END", "ROWTIME"), **settings}
    return WindowAggregate(window=spec, keys=(0,), key_types=TYPES[:1], calls=tuple(c for c, _ in calls), **found)


SCRIPTS = st.lists(
    st.tuples(st.sampled_from(["a", None]), st.integers(-5, 40), st.integers(0, 3)) | st.integers(-5, 45), max_size=14
)
"""rows (key, time, number), and watermarks"""


def steps(events: Sequence[Any]) -> list[Step]:
    found: list[Step] = []
    for event in events:
        if isinstance(event, int):
            found.append(WatermarkStep(event))
        else:
            key, time, number = event
            found.append(element((key, at(time), number), TYPES))
    return [*found, EndInput()]


def windows_at(spec: WindowSpec, time: int) -> list[tuple[int, int]]:
    step = spec.slide or spec.size
    start = time - (time - spec.offset) % spec.size
    if spec.kind == "CUMULATE":
        return [(start, start + upto) for upto in range(step, spec.size + 1, step) if time < start + upto]
    last = time - (time - spec.offset) % step
    return [(begin, begin + spec.size) for begin in range(last, time - spec.size, -step)]


def aligned(spec: WindowSpec, events: Sequence[Any]) -> tuple[dict[Any, list[Row]], int]:
    """(key, start, end) -> its rows; how many rows were too late for all their windows."""
    watermark, late = MIN, 0
    found: dict[Any, list[Row]] = {}
    for event in events:
        if isinstance(event, int):
            watermark = max(watermark, event)
            continue
        every = windows_at(spec, event[1])
        windows = [window for window in every if window[1] - 1 > watermark]
        late += bool(every) and not windows
        for window in windows:
            found.setdefault((event[0], *window), []).append(event)
    return found, late


def sessions(gap: int, events: Sequence[Any]) -> tuple[dict[Any, list[Row]], int]:
    watermark, late = MIN, 0
    found: dict[Any, list[Row]] = {}
    for event in events:
        if isinstance(event, int):
            watermark = max(watermark, event)
            continue
        key, start, end = event[0], event[1], event[1] + gap
        touching = [w for w in found if w[0] == key and w[1] <= end and w[2] >= start and w[2] - 1 > watermark]
        start, end = min([start, *(w[1] for w in touching)]), max([end, *(w[2] for w in touching)])
        if end - 1 <= watermark:
            late += 1
            continue
        rows = [row for window in touching for row in found.pop(window)]
        found[(key, start, end)] = [*rows, event]
    return found, late


def expected(found: dict[Any, list[Row]], calls: Sequence[tuple[AggCall, Any]]) -> list[Row]:
    return [
        (key, *(compute(rows) for _, compute in calls), at(start), at(end), at(end - 1))
        for (key, start, end), rows in found.items()
    ]


def unordered(row: Row) -> Row:
    """A multiset has no order."""
    return tuple(tuple(sorted(each)) if isinstance(each, tuple) else each for each in row)


ALIGNED = [
    WindowSpec("TUMBLE", 10),
    WindowSpec("TUMBLE", 10, offset=3),
    WindowSpec("HOP", 12, 4),
    WindowSpec("HOP", 10, 4),
    WindowSpec("HOP", 4, 10),
    WindowSpec("CUMULATE", 12, 4),
]
CALLS = pytest.mark.parametrize("calls", [MERGED, KEPT, VALUES], ids=["merged", "kept", "values"])


@pytest.mark.parametrize("spec", ALIGNED, ids=str)
@CALLS
@few
@given(SCRIPTS)
def test_event_time(spec: WindowSpec, calls: Any, events: list[Any]) -> None:
    found, late = aligned(spec, events)
    check(config(spec, calls), events, expected(found, calls), late)


@CALLS
@few
@given(SCRIPTS, st.integers(1, 8))
def test_sessions(calls: Any, events: list[Any], gap: int) -> None:
    found, late = sessions(gap, events)
    check(config(WindowSpec("SESSION", gap), calls), events, expected(found, calls), late)


@few
@given(SCRIPTS, st.integers(1, 8))
def test_session_table(events: list[Any], gap: int) -> None:
    found, late = sessions(gap, events)
    table = SessionTable(window=WindowSpec("SESSION", gap), time=1, zoned=False, partition=(0,), types=TYPES)
    rows = [
        (key, at(time), number, at(start), at(end), at(end - 1))
        for (_, start, end), group in found.items()
        for key, time, number in group
    ]
    check(table, events, rows, late)


def check(config: TimedWindows, events: Sequence[Any], rows: Sequence[Row], late: int) -> None:
    for name, outcome in outcomes(config, steps(events), disk=True):
        found = sorted(map(unordered, table_of(changes_of(outcome.values)).elements()), key=repr)
        assert found == sorted(map(unordered, rows), key=repr), name
        assert outcome.measured["metric numLateRecordsDropped"].count == late, name


@pytest.mark.parametrize("spec", [*ALIGNED, WindowSpec("SESSION", 5)], ids=str)
@CALLS
def test_on_disk(spec: WindowSpec, calls: Any) -> None:
    events = [("a", 1, 1), ("a", 9, 2), 9, ("a", 3, 2), ("b", 22, 1), ("a", 13, 2), 25]
    found, _ = sessions(5, events) if spec.kind == "SESSION" else aligned(spec, events)
    check_table(config(spec, calls), steps(events), expected(found, calls), disk=True, view=unordered)


def test_windows_fire_with_the_watermark() -> None:
    with harness(config(WindowSpec("HOP", 10, 5), MERGED[:1], properties=("END",))) as operator:
        operator.process_element(element(("a", at(7), 1), TYPES).value)
        operator.process_watermark(8)
        assert operator.values == []
        operator.process_watermark(9)
        assert changes_of(operator.values) == [(0, ("a", 1, at(10)))]
        operator.process_watermark(13)
        assert len(operator.values) == 1
        operator.process_watermark(20)
        assert changes_of(operator.values)[1:] == [(0, ("a", 1, at(15)))]
        assert isinstance(operator.operator, WindowAggregateOperator)
        assert operator.keys("window accumulators") == []


@CALLS
def test_rows_that_are_taken_back(calls: Any) -> None:
    rows = [("a", at(1), 1), ("a", at(2), 2), ("b", at(3), 3)]
    script = [*(element(row, TYPES) for row in rows)]
    script += [element(row, TYPES, DELETE) for row in rows[1:]]
    wanted = expected({("a", 0, 10): [("a", 1, 1)]}, calls)
    found = config(WindowSpec("TUMBLE", 10), calls, retracts=True)
    check_table(found, [*script, EndInput()], wanted)


@pytest.mark.parametrize("spec", ALIGNED, ids=str)
@few
@given(SCRIPTS, st.randoms(use_true_random=False))
def test_some_rows_are_taken_back(spec: WindowSpec, events: list[Any], draw: random.Random) -> None:
    """Before or after they have come, but while all their windows are open."""
    script: list[Any] = []
    there: list[Row] = []
    for event in events:
        if isinstance(event, int):
            continue
        both = [(INSERT, event), (DELETE, event)]
        gone = draw.random() < 0.5
        script += draw.sample(both, 2) if gone else both[:1]
        there += () if gone else (event,)
    changes = [element((key, at(time), number), TYPES, kind) for kind, (key, time, number) in script]
    found, _ = aligned(spec, there)
    check_table(config(spec, VALUES, retracts=True), [*changes, EndInput()], expected(found, VALUES), disk=True)


def test_insertions_only_are_checked() -> None:
    rows = [element(("a", at(1), 1), TYPES), element(("a", at(1), 1), TYPES, DELETE)]
    with pytest.raises(Exception, match="insertions only"):
        run(config(WindowSpec("TUMBLE", 10), VALUES), rows)


def test_rows_without_time_are_dropped() -> None:
    with harness(config(WindowSpec("TUMBLE", 10), MERGED)) as operator:
        operator.process_element(element(("a", None, 1), TYPES).value)
        operator.end_input()
        assert operator.values == []
        assert operator.counter("numNullRowTimeRecordsDropped") == 1


ZONED = (t.VarCharType(2), t.LocalZonedTimestampType(3), t.IntType())


def test_windows_of_the_zone() -> None:
    """Days begin at midnight in the zone of the session; that of the change of clocks has 23 hours."""
    from millrace.runtime.tables.base import Environment

    day = 86_400_000
    berlin = config(WindowSpec("TUMBLE", day), MERGED[:1], zoned=True, environment=Environment("Europe/Berlin"))
    before, after = (datetime(2024, 3, 30, 22, minute, tzinfo=timezone.utc) for minute in (59, 0))
    last = datetime(2024, 3, 31, 21, 59, tzinfo=timezone.utc)
    rows = [("a", each, 1) for each in (before, after + timedelta(hours=1), last)]
    found = run(berlin, [*(element(row, ZONED) for row in rows), EndInput()])
    assert [row[2:4] for _, row in found] == [
        (datetime(2024, 3, 30), datetime(2024, 3, 31)),
        (datetime(2024, 3, 31), datetime(2024, 4, 1)),
    ]
    assert [row[1] for _, row in found] == [1, 2]
    assert found[1][1][4] == datetime(2024, 3, 31, 21, 59, 59, 999000, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "spec", [WindowSpec("TUMBLE", 10), WindowSpec("HOP", 10, 5), WindowSpec("SESSION", 9)], ids=str
)
@CALLS
def test_processing_time(spec: WindowSpec, calls: Any) -> None:
    found = config(spec, calls, time=None, zoned=True, properties=("START",))
    one, two = (element(("a", None, number), TYPES) for number in (1, 2))
    script = [ProcessingTime(1), one, ProcessingTime(7), two, ProcessingTime(30), one, EndInput()]
    rows = [("a", at(1), 1), ("a", at(7), 2)]
    windows = {
        "TUMBLE": {(0, 10): rows},
        "HOP": {(-5, 5): rows[:1], (0, 10): rows, (5, 15): rows[1:]},
        "SESSION": {(1, 16): rows},
    }[spec.kind]
    wanted = [("a", *(compute(rows) for _, compute in calls), at(start)) for (start, _), rows in windows.items()]
    check_table(found, script, wanted, view=unordered)


def test_attached() -> None:
    """The windows of the rows are columns already; rows of windows that are over are late."""
    types = (*TYPES, t.TimestampType(3), t.TimestampType(3))
    attached = config(WindowSpec("TUMBLE", 10), MERGED[:2], attached=(3, 4))
    rows = [("a", at(n), n, at(n - n % 10), at(n - n % 10 + 10)) for n in (1, 12, 3)]
    script = [element(rows[0], types), element(rows[1], types), WatermarkStep(9), element(rows[2], types), EndInput()]
    check_table(attached, script, [("a", 1, 1, at(0), at(10), at(9)), ("a", 1, 12, at(10), at(20), at(19))])


def test_attached_sessions() -> None:
    """Sessions of one key that end at the same time may have begun at different ones: they were partitioned finer."""
    types = (*TYPES, t.TimestampType(3), t.TimestampType(3))
    attached = config(WindowSpec("SESSION", 5), MERGED[:2], attached=(3, 4))
    rows = [("a", at(12), n, at(n), at(17)) for n in (1, 12, 1)]
    script = [*(element(row, types) for row in rows), EndInput()]
    check_table(attached, script, [("a", 2, 2, at(1), at(17), at(16)), ("a", 1, 12, at(12), at(17), at(16))])


@pytest.mark.parametrize("spec", ALIGNED, ids=str)
def test_window_table(spec: WindowSpec) -> None:
    table = WindowTable(window=spec, time=1, zoned=False)
    rows = [("a", at(n), n) for n in (3, 25)]
    wanted = [(*row, at(start), at(end), at(end - 1)) for row in rows for start, end in windows_at(spec, row[2])]
    check_table(table, [*(element(row, TYPES) for row in rows), EndInput()], wanted)


def test_window_table_in_processing_time() -> None:
    table = WindowTable(window=WindowSpec("TUMBLE", 10), time=None, zoned=True)
    with harness(table, processing_time=25) as operator:
        operator.process_element(rows_of([(DELETE, ("a", None, 1))], TYPES))
        end = datetime(1970, 1, 1, 0, 0, 0, 29_000, tzinfo=timezone.utc)
        assert changes_of(operator.values) == [(DELETE, ("a", None, 1, at(20), at(30), end))]


@pytest.mark.parametrize(
    "spec", [WindowSpec("TUMBLE", 10), WindowSpec("HOP", 10, 5), WindowSpec("SESSION", 9)], ids=str
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_it_is_known_when_the_next_window_of_processing_time_is_over(spec: WindowSpec, zone: str) -> None:
    from millrace.runtime.tables.base import Environment

    found = config(spec, MERGED[:1], time=None, zoned=True, environment=Environment(zone))
    with harness(found, processing_time=1) as running:
        assert running.operator.next_due() is None
        running.process_element(element(("a", None, 1), TYPES).value)
        due = {"TUMBLE": 9, "HOP": 4, "SESSION": 9}[spec.kind]
        assert running.operator.next_due() == due
        running.set_processing_time(due - 1)
        assert running.values == []
        running.set_processing_time(due)
        assert len(changes_of(running.values)) == 1
    event_time = config(spec, MERGED[:1])
    with harness(event_time) as running:
        running.process_element(element(("a", at(1), 1), TYPES).value)
        assert running.operator.next_due() is None
