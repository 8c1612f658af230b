"""The zone of a session."""

from __future__ import annotations

import datetime as dt

import pytest

from millrace.relational import types as t
from millrace.table import TableEnvironment
from millrace.table.values.printed_tables import row_texts


@pytest.mark.parametrize("zone", ["GMT+08:00", "UTC+8", "+08:00", "CTT"])
def test_zones_are_those_of_java(t_env: TableEnvironment, zone: str) -> None:
    t_env.get_config().set_local_timezone(zone)
    assert t_env.get_config().get_local_timezone() == zone
    shown = row_texts([t.LocalZonedTimestampType(0)], zone)
    assert shown([dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)]) == ["2024-01-01 08:00:00"]


def test_zones_that_there_are_not(t_env: TableEnvironment) -> None:
    with pytest.raises(Exception, match=r"table\.local-time-zone: there is no time zone 'Mars/Base'"):
        t_env.execute_sql("SET 'table.local-time-zone' = 'Mars/Base'")
