"""The conversions of ``to_sql_type`` and ``from_sql_type`` of PyFlink's types: dates as days, times as microseconds.

Millrace does not need them, since its values go into Arrow columns; programs that call these methods get PyFlink's
numbers.
"""

from __future__ import annotations

import calendar
import datetime as dt
import time

_SECOND = 1_000_000
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


def _zone() -> int:
    """The offset of the machine's zone at the epoch, in microseconds."""
    return calendar.timegm(time.localtime(0)) * _SECOND


def _instant(value: dt.datetime) -> int:
    """Seconds since the epoch; a time without a zone is one of the machine's."""
    return int(calendar.timegm(value.utctimetuple()) if value.tzinfo else time.mktime(value.timetuple()))


def timestamp_from_sql(micros: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(micros // _SECOND).replace(microsecond=micros % _SECOND)


def date_to_sql(value: dt.date) -> int:
    return value.toordinal() - _EPOCH_DAY


def date_from_sql(days: int) -> dt.date:
    return dt.date.fromordinal(days + _EPOCH_DAY)


def time_to_sql(value: dt.time) -> int:
    since_midnight = dt.timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )
    offset = value.utcoffset() or dt.timedelta() if value.tzinfo else dt.timedelta(microseconds=_zone())
    return (since_midnight - offset) // dt.timedelta(microseconds=1)


def time_from_sql(micros: int) -> dt.time:
    return (dt.datetime.min + dt.timedelta(microseconds=(micros + _zone()) % (86_400 * _SECOND))).time()


def timestamp_to_sql(value: dt.datetime) -> int:
    return _instant(value) * _SECOND + value.microsecond


def zoned_to_sql(value: dt.datetime) -> tuple[int, int]:
    """Microseconds on the clock of the zone, and its offset in seconds."""
    found = value.utcoffset() if value.tzinfo else value.astimezone().utcoffset()
    seconds = int((found or dt.timedelta()).total_seconds())
    return (_instant(value) + seconds) * _SECOND + value.microsecond, seconds


def zoned_from_sql(pair: tuple[int, int]) -> dt.datetime:
    micros, offset = pair
    micros -= offset * _SECOND
    zone = dt.timezone(dt.timedelta(seconds=offset))
    return dt.datetime.fromtimestamp(micros // _SECOND, zone).replace(microsecond=micros % _SECOND)


def interval_to_sql(value: dt.timedelta) -> int:
    return value // dt.timedelta(microseconds=1)


def interval_from_sql(micros: int) -> dt.timedelta:
    return dt.timedelta(microseconds=micros)
