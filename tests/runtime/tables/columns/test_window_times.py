"""What time it is on the wall, against the calendar."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.columns.window_times import WallClock, has_passed

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
