"""Zones by name."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millrace.relational import types as t
from millrace.relational.functions.cast_values import explicit_cast
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref
from millrace.relational.time_zones import standard_name, zone_of, zone_or_gmt

WINTER = dt.datetime(2024, 1, 1)
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("UTC", 0),
        ("Z", 0),
        ("GMT", 0),
        ("GMT+8", 8),
        ("GMT-08:00", -8),
        ("UTC+05:30", 5.5),
        ("+0530", 5.5),
        ("-03:00", -3),
        ("PST", -8),
        ("EST", -5),
        ("CTT", 8),
        (BERLIN, 1),
    ],
)
def test_names_of_zones_are_those_of_java(name: str, hours: float) -> None:
    assert WINTER.replace(tzinfo=zone_of(name)).utcoffset() == dt.timedelta(hours=hours)


@pytest.mark.parametrize("name", ["Mars/Base", "", "GMT+19", "../etc", "GMT*"])
def test_unknown_zones(name: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        zone_of(name)
    assert zone_or_gmt(name) is dt.timezone.utc


@pytest.mark.parametrize(
    ("name", "standard"),
    [("GMT+08:00", "+08:00"), ("UTC-3", "-03:00"), ("UTC+5:45", "+05:45"), ("PST", "America/Los_Angeles"),
     (BERLIN, BERLIN), ("Z", "+00:00")],
)  # fmt: skip
def test_other_libraries_know_the_standard_name(name: str, standard: str) -> None:
    assert standard_name(name) == standard
    column = pa.array([WINTER], pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    shown = pc.local_timestamp(column.cast(pa.timestamp("us", standard_name(name))))
    assert shown.to_pylist() == [WINTER.replace(tzinfo=dt.timezone.utc).astimezone(zone_of(name)).replace(tzinfo=None)]


LTZ, TIMESTAMP, TEXT = t.LocalZonedTimestampType(3), t.TimestampType(3), t.string()
STAMP, AT_EIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc), dt.datetime(1970, 1, 1, 8)


@pytest.mark.parametrize("zone", ["GMT+08:00", "UTC+8", "+08:00", "Asia/Singapore"])
def test_casts_in_sessions_of_any_zone(zone: str) -> None:
    """Singapore's clocks were half an hour behind in 1970."""
    late = dt.timedelta(minutes=30) if zone.startswith("Asia") else dt.timedelta(0)
    local = AT_EIGHT - late
    around = Surroundings(1, zone)
    stamps = pa.array([STAMP], pa.timestamp("us", "UTC"))
    locals_ = pa.array([local], pa.timestamp("us"))
    texts = pa.array([f"{local} "[:19]])

    def cast(column: pa.Array, source: t.DataType, target: t.DataType) -> list[object]:
        found = Evaluator([column], around).column(explicit_cast(Ref(source, 0), target, False))
        assert isinstance(found, pa.Array)
        return list(found.to_pylist())

    assert cast(stamps, LTZ, TIMESTAMP) == [local]
    assert cast(stamps, LTZ, TEXT) == [f"{local}.000"]
    assert cast(stamps, LTZ, t.DateType()) == [local.date()]
    assert cast(stamps, LTZ, t.TimeType(0)) == [local.time()]
    assert cast(locals_, TIMESTAMP, LTZ) == [STAMP]
    assert cast(texts, TEXT, LTZ) == [STAMP]
