"""Which windows a time is in, and what time it is on the wall: against counting window by window, and the calendar."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.nodes import WindowSpec
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.columns.window_times import WallClock, Windows, has_passed

SPECS = [
    WindowSpec("TUMBLE", 10),
    WindowSpec("TUMBLE", 10, offset=3),
    WindowSpec("TUMBLE", 10, offset=-4),
    WindowSpec("HOP", 10, 5),
    WindowSpec("HOP", 10, 4, offset=1),
    WindowSpec("HOP", 4, 10),
    WindowSpec("CUMULATE", 12, 4),
    WindowSpec("CUMULATE", 12, 4, offset=2),
]


def windows_at(spec: WindowSpec, time: int) -> set[tuple[int, int]]:
    """All windows from the first one before the time, checked one by one."""
    step = spec.size if spec.kind == "TUMBLE" else spec.slide or spec.size
    begin = (time // 120 - 2) * 120 + spec.offset
    found = set()
    if spec.kind == "CUMULATE":
        for start in range(begin, time + 1, spec.size):
            found |= {(start, start + upto) for upto in range(step, spec.size + 1, step)}
    else:
        found = {(start, start + spec.size) for start in range(begin, time + 1, step)}
    return {(start, end) for start, end in found if start <= time < end}


@pytest.mark.parametrize("spec", SPECS, ids=str)
@given(st.lists(st.integers(-300, 300), min_size=1, max_size=5))
def test_expand(spec: WindowSpec, times: list[int]) -> None:
    windows = Windows(spec)
    rows, starts, ends = windows.expand(np.array(times))
    assert sorted(rows.tolist()) == rows.tolist()
    for row, time in enumerate(times):
        found = list(zip(starts[rows == row].tolist(), ends[rows == row].tolist()))
        assert len(found) == len(set(found))
        assert set(found) == windows_at(spec, time)
    assert [windows.start_of(end) for end in ends.tolist()] == starts.tolist()


@pytest.mark.parametrize("spec", SPECS, ids=str)
@given(st.integers(-300, 300))
def test_slices(spec: WindowSpec, time: int) -> None:
    """A row's slice is in just the windows that the row is in."""
    windows = Windows(spec)
    (slice_end,) = windows.slice_ends(np.array([time])).tolist()
    ends = sorted(end for _, end in windows_at(spec, time))
    assert windows.windows_of(slice_end) == ends
    assert all(slice_end in windows.slices_of(end) for end in ends)


BERLIN = WallClock("Europe/Berlin")


def wall(text: str) -> int:
    """A time on the wall in ms."""
    return round((datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds() * 1000)


def instant(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("shown", "when"),
    [
        ("2024-01-15T12:00", "2024-01-15T11:00+00:00"),
        ("2024-07-15T12:00", "2024-07-15T10:00+00:00"),
        # shown twice: the second time
        ("2024-10-27T02:30", "2024-10-27T01:30+00:00"),
        # never shown: as late as it would have been
        ("2024-03-31T02:30", "2024-03-31T01:30+00:00"),
    ],
)
def test_instants(shown: str, when: str) -> None:
    assert BERLIN.instant(wall(shown)) == instant(when)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)))
def test_times_on_the_wall(moment: datetime) -> None:
    utc = moment.replace(tzinfo=timezone.utc)
    shown = utc.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
    ms = (utc - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    expected = wall(shown.isoformat(timespec="milliseconds"))
    assert BERLIN.times(pa.array([utc], pa.timestamp("us", "UTC"))).tolist() == [expected]
    assert BERLIN.time(ms) == expected


@pytest.mark.parametrize("clock", [WallClock(None), WallClock("UTC"), BERLIN])
def test_columns(clock: WallClock) -> None:
    time = wall("2024-01-15T12:00")
    plain: Any = clock.column(np.array([time]), False)
    attribute: Any = clock.column(np.array([time]), True)
    assert plain.to_pylist() == [datetime(2024, 1, 15, 12)]
    assert attribute.type == pa.timestamp("us") if clock.zone is None else pa.timestamp("us", "UTC")
    assert clock.times(attribute).tolist() == [time]


def test_over() -> None:
    end = wall("2024-01-15T12:00")
    assert not has_passed(end, BERLIN, BERLIN.instant(end) - 2)
    assert has_passed(end, BERLIN, BERLIN.instant(end) - 1)
    assert has_passed(end, BERLIN, MAX_WATERMARK)
