"""ON CONFLICT over changes, against what a list of all rows says at each watermark."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, check_table, element, few, harness, rows_of, run

from millrace.relational import types as t
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER
from millrace.runtime.tables.ordering.conflicts import Conflicts, Stamp
from millrace.testing import EndInput, EpochEnd, Step, WatermarkStep

TYPES = (t.IntType(), t.IntType())
STAMPED = (*TYPES, t.BigIntType())
PROBLEM = "a second row with the key"


def conflicts(unique: bool = False, problem: str | None = None) -> Conflicts:
    return Conflicts(keys=(0,), types=TYPES, unique=(1,) if unique else None, problem=problem)


def script(events: list[Any]) -> list[Step]:
    return [
        WatermarkStep(event) if isinstance(event, int) else element((event[1], event[2], event[3]), STAMPED, event[0])
        for event in events
    ]


def expected(events: list[Any]) -> list[tuple[int, int]]:
    """The rows that are there at the end: of a key the first one, unless a watermark found it gone."""
    held: dict[int, int] = {}
    waiting: list[tuple[int, int, int, int]] = []
    for event in [*events, 2**62]:
        if not isinstance(event, int):
            waiting.append(event)
            continue
        for stamp in sorted({each[3] for each in waiting if each[3] < event}):
            for key in {each[1] for each in waiting if each[3] == stamp}:
                rows = [held[key]] if key in held else []
                rows = _with(rows, [(kind, row) for kind, at, row, when in waiting if (at, when) == (key, stamp)])
                held.pop(key, None)
                if rows:
                    held[key] = rows[0]
        waiting = [each for each in waiting if each[3] >= event]
    return sorted(held.items())


def _with(rows: list[int], changes: list[tuple[int, int]]) -> list[int]:
    kept: list[tuple[int, int]] = []
    for kind, row in changes:  # what is added and taken back between two watermarks was never there
        opposite = (DELETE if kind == INSERT else INSERT, row)
        if opposite in kept:
            kept.remove(opposite)
        else:
            kept.append((kind, row))
    for kind, row in kept:
        if kind == INSERT:
            rows = [*rows, row]
        elif row in rows:
            rows = [each for at, each in enumerate(rows) if at != rows.index(row)]
    return rows


@st.composite
def histories(draw: Any) -> list[Any]:
    """Changes (kind, key, row, watermark of their task) and watermarks of all tasks, in order of time."""
    events: list[Any] = []
    there: list[tuple[int, int]] = []
    now = 0
    for _ in range(draw(st.integers(1, 25))):
        choice = draw(st.integers(0, 5))
        if choice == 0:
            now += draw(st.integers(1, 4))
            events.append(now)
        elif choice < 3 and there:
            events.append((DELETE, *there.pop(draw(st.integers(0, len(there) - 1))), now))
        else:
            there.append((draw(st.integers(1, 2)), draw(st.integers(1, 3))))
            events.append((INSERT, *there[-1], now))
    return events


@few
@given(histories())
def test_the_first_row_stays(events: list[Any]) -> None:
    check_table(conflicts(), [*script(events), EndInput()], expected(events), keys=(0,))


def test_on_disk() -> None:
    events = [(INSERT, 1, 1, 0), (INSERT, 1, 2, 0), 5, (DELETE, 1, 1, 5), (INSERT, 1, 3, 5), 9, (INSERT, 2, 1, 9)]
    check_table(conflicts(), [*script(events), EndInput()], expected(events), keys=(0,), disk=True)


def test_nothing_is_judged_between_watermarks() -> None:
    events = [(INSERT, 1, 1, 0), 2, (INSERT, 1, 2, 2), (DELETE, 1, 1, 2), 3]
    changes = run(conflicts(problem=PROBLEM), script(events))
    assert changes == [(INSERT, (1, 1)), (UPDATE_AFTER, (1, 2))]


def test_a_task_that_is_ahead_waits_for_the_others() -> None:
    """The new row comes from a task that stands at 20, the old one is taken back by one at 10."""
    events = [(INSERT, 1, 1, 0), 5, (INSERT, 1, 2, 20), 10, (DELETE, 1, 1, 10), 20]
    assert run(conflicts(problem=PROBLEM), script(events))[-1] == (DELETE, (1, 1))
    assert run(conflicts(problem=PROBLEM), script([*events, 21]))[-1] == (INSERT, (1, 2))


def test_two_rows_at_a_watermark_are_an_error() -> None:
    with pytest.raises(Exception, match=f"{PROBLEM} 1"):
        run(conflicts(problem=PROBLEM), script([(INSERT, 1, 1, 0), (INSERT, 1, 2, 0), 1]))


def test_versions_of_one_row_are_no_conflict() -> None:
    events = [(INSERT, 1, 1, 0), (UPDATE_AFTER, 1, 1, 0), 1]
    assert run(conflicts(unique=True, problem=PROBLEM), script(events)) == [(INSERT, (1, 1))]


def test_what_comes_after_a_restore_came_later() -> None:
    """With another number of tasks one may stand further back than the one before it did."""
    with harness(conflicts()) as first:
        first.process_element(rows_of([(INSERT, (1, 1, 20))], STAMPED))
        first.end_epoch()
        snapshot = first.snapshot()
    with harness(conflicts()).restore(snapshot) as second:
        second.process_element(rows_of([(DELETE, (1, 1, 10))], STAMPED))
        second.process_watermark(15)
        second.process_watermark(21)
        second.end_epoch()
        assert changes_of(second.values) == []
        assert second.keys("waiting changes") == []


def test_the_end_settles_what_came_behind_the_last_watermark() -> None:
    assert run(conflicts(), [*script([(INSERT, 1, 1, 2**63 - 1)]), EndInput()]) == [(INSERT, (1, 1))]


def test_rows_carry_the_watermark_of_their_task() -> None:
    script = [element((1, 2), TYPES), WatermarkStep(7), element((3, 4), TYPES, DELETE), EpochEnd()]
    assert run(Stamp(), script) == [(INSERT, (1, 2, -(2**63))), (DELETE, (3, 4, 7))]
