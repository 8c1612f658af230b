"""The time of a partition. Expected values follow Flink's documentation of the options."""

from __future__ import annotations

import datetime as dt

import pytest

from millrace.connectors.file_system.part_policies import java_zone
from millrace.connectors.file_system.table.partition_commit import (
    AtPartitionTime,
    AtProcessingTime,
    DefaultTimeExtractor,
)

KEYS = ("year", "month", "day", "hour")
CASES = [
    (None, None, ("dt",), ("2024-05-06",), dt.datetime(2024, 5, 6)),
    (None, None, ("dt",), ("2024-5-6 7:8:9",), dt.datetime(2024, 5, 6, 7, 8, 9)),
    ("$dt $hour:00:00", None, ("dt", "hour"), ("2024-05-06", "10"), dt.datetime(2024, 5, 6, 10)),
    ("$year-$month-$day $hour:00:00", None, KEYS, ("2024", "5", "6", "7"), dt.datetime(2024, 5, 6, 7)),
    ("$dt $hour:00:00", None, ("dt", "hour"), ("2024-02-30", "24"), dt.datetime(2024, 3, 2)),
    ("$dt", "yyyyMMdd", ("dt",), ("20240506",), dt.datetime(2024, 5, 6)),
    ("$dt-$hour", "yyyyMMdd-HH", ("dt", "hour"), ("20240506", "10"), dt.datetime(2024, 5, 6, 10)),
]


@pytest.mark.parametrize(("pattern", "formatter", "keys", "values", "expected"), CASES)
def test_times(
    pattern: str | None, formatter: str | None, keys: tuple[str, ...], values: tuple[str, ...], expected: dt.datetime
) -> None:
    assert DefaultTimeExtractor(pattern, formatter).extract(keys, values) == expected


@pytest.mark.parametrize(("formatter", "text"), [(None, "yesterday"), ("yyyyMMdd", "2024-05-06")])
def test_what_is_no_time(formatter: str | None, text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is no time of the form"):
        DefaultTimeExtractor(None, formatter).extract(["dt"], [text])


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), ("Asia/Shanghai", -8), ("GMT+01:00", -1)])
def test_the_watermark_has_to_pass_the_partitions_time_and_the_delay(zone: str, hours: int) -> None:
    found = java_zone(zone)
    assert found is not None
    trigger = AtPartitionTime(3_600_000, ("dt",), DefaultTimeExtractor(), found)
    begins = dt.datetime(2024, 5, 6, tzinfo=dt.timezone.utc) + dt.timedelta(hours=hours)
    due = int(begins.timestamp() * 1000) + 3_600_000
    assert not trigger.is_due("dt=2024-05-06", 0, due, 10**15)
    assert trigger.is_due("dt=2024-05-06", 0, due + 1, 0)


def test_processing_time() -> None:
    assert AtProcessingTime(0).is_due("dt=x", 5, 0, 5)
    assert not AtProcessingTime(10).is_due("dt=x", 5, 10**15, 15)
    assert AtProcessingTime(10).is_due("dt=x", 5, 0, 16)
