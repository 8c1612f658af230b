"""``WindowRank`` and ``WindowDeduplicate`` against picking from all rows of a window that were in time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, check_table, element, few, harness, outcomes, table_of

from millrace.relational import types as t
from millrace.relational.rex import Ref, SortKey
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.windows.window_rank import WindowDeduplicate, WindowRank
from millrace.testing import EndInput, Step, WatermarkStep

TYPES = (t.VarCharType(1), t.TimestampType(3), t.IntType(), t.TimestampType(3))
KEY, TIME, NUMBER, WINDOW_END = range(4)
Row = tuple[Any, ...]

EVENTS = st.lists(
    st.tuples(st.sampled_from([None, "a"]), st.integers(0, 29), st.integers(0, 3)) | st.integers(0, 30), max_size=12
)
"""rows (key, time, number), and watermarks"""


def at(ms: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)


def row_of(event: Any) -> Row:
    key, time, number = event
    return key, at(time), number, at(time - time % 10 + 10)


def steps(events: Sequence[Any]) -> list[Step]:
    found = [WatermarkStep(each) if isinstance(each, int) else element(row_of(each), TYPES) for each in events]
    return [*found, EndInput()]


def groups(events: Sequence[Any]) -> tuple[list[list[Row]], int]:
    """The rows of each key and window that were in time, and how many were not."""
    watermark, late = -1, 0
    found: dict[Any, list[Row]] = {}
    for event in events:
        if isinstance(event, int):
            watermark = max(watermark, event)
        elif row_of(event)[WINDOW_END] - timedelta(milliseconds=1) <= at(watermark):
            late += 1
        else:
            row = row_of(event)
            found.setdefault((row[KEY], row[WINDOW_END]), []).append(row)
    return list(found.values()), late


def check(config: TableConfig, events: Sequence[Any], rows: Sequence[Row], late: int) -> None:
    for name, outcome in outcomes(config, steps(events)):
        found = sorted(table_of(changes_of(outcome.values)).elements(), key=repr)
        assert found == sorted(rows, key=repr), name
        assert outcome.measured["metric numLateRecordsDropped"].count == late, name


def rank(**settings: Any) -> WindowRank:
    order = (SortKey(Ref(TYPES[NUMBER], NUMBER), descending=True),)
    return WindowRank(
        partition=(KEY, WINDOW_END), order=order, types=TYPES, window_end=WINDOW_END, zoned=False, **settings
    )


@few
@given(EVENTS, st.booleans(), st.integers(1, 2))
def test_rank(events: list[Any], number: bool, first: int) -> None:
    found, late = groups(events)
    rows = []
    for group in found:
        ordered = sorted(group, key=lambda row: -row[NUMBER])
        rows += [(*row, place) if number else row for place, row in enumerate(ordered, 1) if first <= place <= 2]
    check(rank(first=first, last=2, number=number), events, rows, late)


def deduplicate(last: bool, number: bool = False) -> WindowDeduplicate:
    return WindowDeduplicate(
        keys=(KEY,), types=TYPES, last=last, time=TIME, window_end=WINDOW_END, zoned=False, number=number
    )


@pytest.mark.parametrize("last", [False, True])
@few
@given(EVENTS, st.booleans())
def test_deduplicate(last: bool, events: list[Any], number: bool) -> None:
    found, late = groups(events)
    rows = []
    for group in found:
        ordered = sorted(group, key=lambda row: row[TIME])
        row = ordered[-1 if last else 0]
        rows.append((*row, 1) if number else row)
    check(deduplicate(last, number), events, rows, late)


@pytest.mark.parametrize("config", [rank(last=1), deduplicate(False)], ids=["rank", "deduplicate"])
def test_on_disk(config: TableConfig) -> None:
    events = [("a", 1, 3), ("a", 2, 1), 9, ("a", 3, 9), ("a", 12, 2)]
    check_table(config, steps(events), [row_of(events[0]), row_of(events[4])], disk=True)


def test_nothing_is_kept_of_a_window_that_is_over() -> None:
    with harness(rank(last=1)) as operator:
        operator.process_element(element(row_of(("a", 1, 3)), TYPES).value)
        operator.process_watermark(8)
        assert operator.values == []
        operator.process_watermark(9)
        assert changes_of(operator.values) == [(0, row_of(("a", 1, 3)))]
        assert operator.keys("window rows") == []
