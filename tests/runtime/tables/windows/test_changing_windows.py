"""Windows whose rows change, against the rows that each window still takes, one row and watermark after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from tests.runtime.tables.table_runs import changes_of, check_table, element, few, harness, outcomes, rows_of, table_of
from tests.runtime.tables.windows.test_window_aggregate import (
    CALLS,
    KEPT,
    MERGED,
    MIN,
    SCRIPTS,
    TYPES,
    Row,
    at,
    config,
    expected,
    steps,
    unordered,
    windows_at,
)

from millrace.relational.nodes import Emission, WindowSpec
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.windows.changing_windows import GIVEN, WINDOWS
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.testing import EndInput, EpochEnd, ProcessingTime, WatermarkStep

SPECS = [
    WindowSpec("TUMBLE", 10),
    WindowSpec("TUMBLE", 10, offset=3),
    WindowSpec("HOP", 12, 4),
    WindowSpec("HOP", 4, 10),
]
EMISSIONS = [
    Emission(early=0),
    Emission(late=0, lateness=7),
    Emission(early=0, late=0, lateness=7),
    Emission(early=50, late=5, lateness=12),
    Emission(early=5, late=5, lateness=5),
]


def with_emission(spec: WindowSpec, calls: Any, emission: Emission, **settings: Any) -> WindowAggregate:
    return config(spec, calls, emission=emission, **settings)


def taken(spec: WindowSpec, lateness: int, events: Sequence[Any]) -> tuple[dict[Any, list[Row]], int]:
    """(key, start, end) -> its rows; how many rows no window takes any more."""
    watermark, late = MIN, 0
    found: dict[Any, list[Row]] = {}
    for event in events:
        if isinstance(event, int):
            watermark = max(watermark, event)
            continue
        every = windows_at(spec, event[1])
        windows = [window for window in every if window[1] - 1 + lateness > watermark]
        late += bool(every) and not windows
        for window in windows:
            found.setdefault((event[0], *window), []).append(event)
    return found, late


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[2]], ids=str)
@pytest.mark.parametrize("emission", EMISSIONS, ids=lambda each: each.text)
@pytest.mark.parametrize("calls", [[*MERGED, *KEPT]], ids=["calls"])
@few
@given(SCRIPTS)
def test_rows_count_that_are_not_too_late(spec: WindowSpec, emission: Emission, calls: Any, events: list[Any]) -> None:
    found, late = taken(spec, emission.lateness, events)
    rows = sorted(map(unordered, expected(found, calls)), key=repr)
    for name, outcome in outcomes(with_emission(spec, calls, emission), steps(events)):
        seen = sorted(map(unordered, table_of(changes_of(outcome.values)).elements()), key=repr)
        assert seen == rows, name
        assert outcome.measured["metric numLateRecordsDropped"].count == late, name


@pytest.mark.parametrize("spec", SPECS, ids=str)
@CALLS
def test_on_disk(spec: WindowSpec, calls: Any) -> None:
    events = [("a", 1, 1), ("a", 9, 2), 9, ("a", 3, 2), ("b", 22, 1), ("a", 13, 2), 25, ("b", 18, 3)]
    found, _ = taken(spec, 7, events)
    changing = with_emission(spec, calls, Emission(early=0, late=0, lateness=7))
    check_table(changing, steps(events), expected(found, calls), disk=True, view=unordered)


def test_without_old_rows() -> None:
    events = [("a", 1, 1), ("a", 9, 2), 9, ("a", 3, 2), ("b", 12, 1), 15]
    changing = with_emission(SPECS[0], MERGED, Emission(early=0, late=0, lateness=7), before=False)
    check_table(changing, steps(events), expected(taken(SPECS[0], 7, events)[0], MERGED), keys=(0, 5))


def test_a_late_row_is_an_update_and_state_goes_when_the_lateness_has_passed() -> None:
    late = with_emission(SPECS[0], MERGED[:1], Emission(late=0, lateness=5), properties=())
    with harness(late) as running:
        running.process_element(element(("a", at(7), 1), TYPES).value)
        running.process_watermark(9)
        assert changes_of(running.values) == [(INSERT, ("a", 1))]
        running.process_element(element(("a", at(1), 1), TYPES).value)
        running.process_element(element(("b", at(1), 1), TYPES).value)
        running.end_epoch()
        update = [(UPDATE_BEFORE, ("a", 1)), (UPDATE_AFTER, ("a", 2))]
        assert changes_of(running.values)[1:] == [*update, (INSERT, ("b", 1))]
        running.process_watermark(13)
        assert len(running.keys(WINDOWS)) == 2 and len(running.keys(GIVEN)) == 2
        running.process_watermark(14)
        assert running.keys(WINDOWS) == [] and running.keys(GIVEN) == []
        running.process_element(element(("a", at(1), 1), TYPES).value)
        assert running.counter("numLateRecordsDropped") == 1
        assert len(changes_of(running.values)) == 4


@pytest.mark.parametrize("calls", [MERGED, KEPT], ids=["merged", "kept"])
def test_rows_that_are_taken_back_late(calls: Any) -> None:
    rows = [("a", at(1), 1), ("a", at(2), 2), ("b", at(3), 3)]
    script = [*(element(row, TYPES) for row in rows), WatermarkStep(11)]
    script += [element(row, TYPES, DELETE) for row in rows[1:]]
    wanted = expected({("a", 0, 10): [("a", 1, 1)]}, calls)
    changing = with_emission(SPECS[0], calls, Emission(late=0, lateness=9), retracts=True)
    check_table(changing, [*script, EndInput()], wanted)
    with harness(changing) as running:
        running.process_element(element(rows[2], TYPES).value)
        running.process_watermark(11)
        running.process_element(rows_of([(DELETE, rows[2])], TYPES))
        running.end_epoch()
        assert [kind for kind, _ in changes_of(running.values)] == [INSERT, DELETE]


def test_changes_wait_for_their_delay() -> None:
    """The first change of a window says when it speaks: that long after it, then each time so long after that."""
    changing = with_emission(SPECS[0], MERGED[:1], Emission(early=100), properties=())
    one = element(("a", at(1), 1), TYPES).value
    with harness(changing, processing_time=10) as running:
        running.process_element(one)
        running.end_epoch()
        assert running.operator.next_due() == 110
        running.set_processing_time(109)
        assert running.values == []
        running.set_processing_time(110)
        assert changes_of(running.values) == [(INSERT, ("a", 1))]
        assert running.operator.next_due() is None
        running.set_processing_time(150)
        running.process_element(one)
        running.process_element(one)
        assert running.operator.next_due() == 210
        running.set_processing_time(400)
        assert changes_of(running.values)[1:] == [(UPDATE_BEFORE, ("a", 1)), (UPDATE_AFTER, ("a", 3))]
        running.process_element(one)
        assert running.operator.next_due() == 410
        running.process_watermark(9)
        assert changes_of(running.values)[3:] == [(UPDATE_BEFORE, ("a", 3)), (UPDATE_AFTER, ("a", 4))]


def test_waiting_changes_outlive_a_restore_and_the_end_of_their_window() -> None:
    one = element(("a", at(1), 1), TYPES)
    script = [
        one,
        WatermarkStep(9),
        ProcessingTime(100),
        one,
        EpochEnd(),
        ProcessingTime(150),
        one,
        EpochEnd(),
        ProcessingTime(201),
        EpochEnd(),
        one,
        WatermarkStep(19),
    ]
    changing = with_emission(SPECS[0], MERGED[:1], Emission(late=100, lateness=10), properties=())
    for name, outcome in outcomes(changing, script):
        news = [row[1] for kind, row in changes_of(outcome.values) if kind in (INSERT, UPDATE_AFTER)]
        assert news == [1, 3, 4], name


def test_a_key_that_comes_behind_the_end_does_not_wait() -> None:
    changing = with_emission(SPECS[0], MERGED[:1], Emission(late=100, lateness=50), properties=())
    with harness(changing) as running:
        running.process_watermark(20)
        for count in (1, 2):
            running.process_element(element(("b", at(1), 1), TYPES).value)
            running.end_epoch()
            assert changes_of(running.values)[-1][1] == ("b", count)


def test_processing_time() -> None:
    changing = with_emission(SPECS[0], MERGED[:1], Emission(early=0), time=None, zoned=True, properties=("PROCTIME",))
    one = element(("a", None, 1), TYPES)
    times = [ProcessingTime(1), one, EpochEnd(), ProcessingTime(7), one, EpochEnd(), ProcessingTime(30), one]
    script = [*times, EndInput()]
    for name, outcome in outcomes(changing, script):
        changes = changes_of(outcome.values)
        table_of(changes)  # a row is taken back as it was given, with its time
        assert [row[1] for kind, row in changes if kind in (INSERT, UPDATE_AFTER)][-2:] == [2, 1], name


def test_each_row_makes_its_change() -> None:
    events = [("a", 1, 1), ("a", 2, 1), ("a", 3, 1)]
    rows = rows_of([(INSERT, (key, at(time), number)) for key, time, number in events], TYPES)
    for every, counts in ((False, [3]), (True, [1, 2, 3])):
        changing = with_emission(SPECS[0], MERGED[:1], Emission(early=0), every_change=every, properties=())
        with harness(changing) as running:
            running.process_element(rows)
            running.end_epoch()
            assert [row[1] for kind, row in changes_of(running.values) if kind != UPDATE_BEFORE] == counts
