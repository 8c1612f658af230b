"""Java date patterns and zone ids."""

from __future__ import annotations

import datetime as dt

import pytest

from millrace.connectors.file_system.part_policies import java_formatter, java_zone

MOMENT = dt.datetime(2024, 2, 9, 15, 4, 5, 67_089)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd--HH", "2024-02-09--15"),
        ("yy/M/d H:m:s", "24/2/9 15:4:5"),
        ("uuuuMMdd'T'HHmmss.SSS", "20240209T150405.067"),
        ("SSSSSSSSS S", "067089000 0"),
        ("D DDD EEE EEEE MMM MMMM", "40 040 Fri Friday Feb February"),
        ("hh a K k", "03 PM 3 15"),
        ("'dt='yyyy''MM", "dt=2024'02"),
        ("'it''s' dd", "it's 09"),
        ("", ""),
    ],
)
def test_patterns(pattern: str, expected: str) -> None:
    assert java_formatter(pattern)(MOMENT) == expected


@pytest.mark.parametrize(("pattern", "message"), [("Q", "letter 'Q'"), ("'open", "opening quote")])
def test_patterns_that_are_not_understood(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        java_formatter(pattern)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("Z", 0.0),
        ("UTC", 0.0),
        ("GMT-08:00", -8.0),
        ("+01:30", 1.5),
        ("UTC+8", 8.0),
        ("-0530", -5.5),
        ("Asia/Tokyo", 9),
    ],
)
def test_zones(zone: str, hours: float) -> None:
    offset = MOMENT.replace(tzinfo=java_zone(zone)).utcoffset()
    assert offset == dt.timedelta(hours=hours)


def test_no_zone_is_the_machines() -> None:
    assert java_zone(None) is None
    with pytest.raises(ValueError, match="unknown time zone id 'PST/x'"):
        java_zone("PST/x")
