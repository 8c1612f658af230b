"""Time zones: reads names in Java's forms, and converts values and columns between instants and local times."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

_OFFSET = re.compile(r"(?:GMT|UTC|UT)?(?:([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?)?")

_SHORT = {
    "Z": "UTC",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Java's three-letter names, which are not those of the tz database."""


@lru_cache(256)
def zone_of(name: str) -> tzinfo:
    """The zone with this name: ``Europe/Berlin``, ``GMT+08:00``, ``-05:00``, ``PST``.

    :raises ValueError: there is no such zone.
    """
    known = _SHORT.get(name, name)
    offset = _OFFSET.fullmatch(known)
    if known and offset is not None:
        sign, *parts = offset.groups(default="0")
        hours, minutes, seconds = map(int, parts)
        shift = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        if shift > timedelta(hours=18):
            raise ValueError(f"time zone {name!r} is more than 18 hours from UTC")
        return timezone(-shift if sign == "-" else shift) if shift else timezone.utc
    try:
        return ZoneInfo(known)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r}: use a name like 'Europe/Berlin' or 'GMT+01:00'") from error


def zone_or_gmt(name: str) -> tzinfo:
    """The zone with this name, GMT for an unknown one: what ``java.util.TimeZone`` does, and so CONVERT_TZ."""
    try:
        return zone_of(name)
    except ValueError:
        return timezone.utc


def zone_or_none(name: str) -> tzinfo | None:
    """The zone with this name; None for an unknown one, of which TO_TIMESTAMP_LTZ makes NULL."""
    try:
        return zone_of(name)
    except ValueError:
        return None


@lru_cache(256)
def standard_name(name: str) -> str:
    """The zone's name as Arrow, pandas and Spark all read it: ``Europe/Berlin``, ``+08:00``. They have no seconds.

    :raises ValueError: there is no such zone.
    """
    known = zone_of(name)
    if isinstance(known, ZoneInfo):
        return str(known)
    shift = known.utcoffset(None)
    assert shift is not None
    minutes = (-1 if shift < timedelta(0) else 1) * (abs(shift) // timedelta(minutes=1))
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


# Conversions between instants and local times

EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def micros_of(moment: datetime) -> int:
    """Microseconds since the epoch, of an instant or of a local time."""
    return (moment - (EPOCH if moment.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND


def local_of(micros: int, zone: tzinfo) -> datetime:
    """What clocks in the zone show at an instant, without tzinfo."""
    return (_EPOCH_UTC + timedelta(microseconds=micros)).astimezone(zone).replace(tzinfo=None)


def instant_of(local: datetime, zone: tzinfo, *, later: bool = False) -> int:
    """The instant at which clocks in the zone show a time, in microseconds. A time that is skipped in spring counts as
    if the clocks had not been put forward; of one that occurs twice in autumn the first is taken (as ``java.time``
    does), or with ``later`` the second (as ``java.util.Calendar`` does)."""
    shown = local.replace(tzinfo=zone, fold=0)
    if later:
        second = shown.replace(fold=1)
        first_offset, second_offset = shown.utcoffset(), second.utcoffset()
        assert first_offset is not None and second_offset is not None
        if second_offset < first_offset:
            shown = second
    offset = shown.utcoffset()
    assert offset is not None
    return (local - EPOCH - offset) // _MICROSECOND


def local_times(column: Any, zone: str) -> Any:
    """TIMESTAMP_LTZ values as TIMESTAMP in the zone."""
    return pc.local_timestamp(column.cast(pa.timestamp("us", standard_name(zone))))


def instants(column: Any, zone: str, *, later: bool = False) -> Any:
    """TIMESTAMP values, shown by clocks in the zone, as TIMESTAMP_LTZ. ``later`` as in ``instant_of``."""
    if isinstance(column, pa.Scalar):
        return instants(pa.array([column.as_py()], pa.timestamp("us")), zone, later=later)[0]
    ambiguous = "latest" if later else "earliest"
    found = pc.assume_timezone(column, standard_name(zone), ambiguous=ambiguous, nonexistent="earliest")
    skipped = pc.not_equal(pc.local_timestamp(found), column).fill_null(False)
    found = found.cast(pa.timestamp("us", "UTC"))
    if not pc.any(skipped).as_py():
        return found
    known = zone_of(zone)
    micros = [instant_of(local, known) for local in column.filter(skipped).to_pylist()]
    return pc.replace_with_mask(found, skipped, pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC")))
