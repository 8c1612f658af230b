from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.time_zones import instant_of, instants, local_of, local_times, micros_of, zone_of

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("shown", "first", "second"),
    [
        ("2024-03-31 01:30", "2024-03-31 00:30", "2024-03-31 00:30"),
        ("2024-03-31 02:30", "2024-03-31 01:30", "2024-03-31 01:30"),  # skipped: shown as 03:30
        ("2024-10-27 02:30", "2024-10-27 00:30", "2024-10-27 01:30"),  # shown twice
        ("2024-10-27 03:30", "2024-10-27 02:30", "2024-10-27 02:30"),
    ],
)
def test_clocks_that_are_put_forward_and_back(shown: str, first: str, second: str) -> None:
    """As documented for java.time.LocalDateTime.atZone and java.util.GregorianCalendar."""
    local, zone = dt.datetime.fromisoformat(shown), zone_of(BERLIN)
    assert instant_of(local, zone) == micros_of(dt.datetime.fromisoformat(first))
    assert instant_of(local, zone, later=True) == micros_of(dt.datetime.fromisoformat(second))


@given(
    st.lists(st.none() | st.datetimes(dt.datetime(1975, 1, 1), dt.datetime(2035, 1, 1)), min_size=1, max_size=5),
    st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC", "GMT-08:00", "PST"]),
)
def test_columns_are_as_single_values(times: list[dt.datetime | None], name: str) -> None:
    zone = zone_of(name)
    column = pa.array(times, pa.timestamp("us"))
    found = instants(column, name)
    assert found.cast(pa.int64()).to_pylist() == [None if at is None else instant_of(at, zone) for at in times]
    stamps = column.cast(pa.int64()).cast(pa.timestamp("us", "UTC"))
    assert local_times(stamps, name).to_pylist() == [
        None if at is None else local_of(micros_of(at), zone) for at in times
    ]


def test_times_that_a_zone_skips_are_found_in_columns_and_constants() -> None:
    skipped = dt.datetime(2024, 3, 31, 2, 30)
    expected = (skipped.replace(tzinfo=ZoneInfo(BERLIN), fold=0)).astimezone(dt.timezone.utc)
    assert instants(pa.array([skipped, None], pa.timestamp("us")), BERLIN).to_pylist() == [expected, None]
    assert instants(pa.scalar(skipped, pa.timestamp("us")), BERLIN).as_py() == expected
