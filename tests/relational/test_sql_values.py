"""PyFlink's numbers for dates and times; those expected here are what PyFlink 2.3 gives in UTC."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.relational import types as t

EAST = dt.timezone(dt.timedelta(hours=2))
DAYS = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
MOMENT = dt.datetime(2020, 2, 29, 1, 2, 3, 45)


@pytest.fixture(params=["UTC", "Asia/Shanghai"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("kind", "value", "in_utc"),
    [
        (t.DateType(), dt.date(2020, 2, 29), 18321),
        (t.TimeType(), dt.time(1, 2, 3, 45), 3_723_000_045),
        (t.TimestampType(), MOMENT, 1_582_938_123_000_045),
        (t.LocalZonedTimestampType(), MOMENT, 1_582_938_123_000_045),
        (DAYS, dt.timedelta(days=1, microseconds=5), 86_400_000_005),
        (t.IntType(), 5, 5),
        (t.DateType(), None, None),
    ],
    ids=lambda value: str(value),
)
def test_there_and_back(zone: str, kind: t.DataType, value: Any, in_utc: Any) -> None:
    assert kind.from_sql_type(kind.to_sql_type(value)) == value
    assert kind.need_conversion() is (type(kind) is not t.IntType)
    if zone == "UTC":
        assert kind.to_sql_type(value) == in_utc


def test_a_zone_goes_along() -> None:
    kind = t.ZonedTimestampType()
    value = MOMENT.replace(tzinfo=EAST)
    assert kind.to_sql_type(value) == (1_582_938_123_000_045, 7200)
    assert kind.from_sql_type(kind.to_sql_type(value)) == value
    assert t.TimeType().to_sql_type(dt.time(3, tzinfo=EAST)) == 3_600_000_000
