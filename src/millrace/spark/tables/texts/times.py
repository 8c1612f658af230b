"""Points in time as microseconds of local time, so that windows begin at local midnight."""

from __future__ import annotations

import datetime

from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.spark.tables.texts.literals import interval_text

DATE_TIME = (t.TimestampType, t.LocalZonedTimestampType)


def micros(text: str, data_type: DataType) -> str:
    """Microseconds from 1970 on the local clock. Spark's own functions would take the hour that summer time skips for
    another one."""
    local = local_time(text) if isinstance(data_type, t.LocalZonedTimestampType) else text
    seconds = f"unix_date(CAST({local} AS DATE)) * 86400L + hour({local}) * 3600L + minute({local}) * 60L"
    return f"(({seconds}) * 1000000L + CAST(extract(SECOND FROM {local}) * 1000000 AS BIGINT))"


def from_micros(text: str) -> str:
    """The TIMESTAMP that is so many microseconds from 1970 on the local clock."""
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + ({text}) * INTERVAL '0.000001' SECOND)"


def local_time(text: str) -> str:
    """A TIMESTAMP_LTZ as the session's clock shows it."""
    return f"CAST({text} AS TIMESTAMP_NTZ)"


def zoned(text: str) -> str:
    """A TIMESTAMP of the session's clock as the instant that it means."""
    return f"CAST({text} AS TIMESTAMP_LTZ)"


def near(start: str, end: str, data_type: DataType, lower: int, upper: int) -> str:
    """Whether the time from one point to another of the same type is in these bounds (ms)."""
    if isinstance(data_type, t.LocalZonedTimestampType):
        # Their difference would be that of the local clock.
        return f"unix_micros({end}) - unix_micros({start}) BETWEEN {lower * 1000}L AND {upper * 1000}L"
    return f"{end} - {start} BETWEEN {interval_text(_millis(lower))} AND {interval_text(_millis(upper))}"


def _millis(value: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=value)
