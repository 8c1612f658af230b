"""Time zones by name, as Java names them: every name of a zone that a user writes is read here."""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
