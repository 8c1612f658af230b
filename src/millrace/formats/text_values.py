"""Texts of dates, times and booleans as values and back, as Flink reads and writes them."""

from __future__ import annotations

import datetime as dt
import re

from millrace.common.time import Instant

_TIME = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?")


def parse_date(text: str) -> dt.date:
    """``2024-02-29``. :raises ValueError: for another form, or a day that is not there."""
    if text[4:8:3] != "--" or len(text) != len("2024-02-29"):
        raise ValueError(f"not a date: {text!r}")
    return dt.date.fromisoformat(text)


def parse_time(text: str) -> dt.time:
    """``12:34:56``, ``12:34:56.789`` or with ``Z``; what is finer than microseconds is cut off."""
    time, _ = _time_and_offset(text)
    if "+" in text or "-" in text:
        raise ValueError(f"not a time in UTC: {text!r}")
    return time


def parse_timestamp(text: str) -> dt.datetime:
    """``2024-02-29T12:34:56Z`` (or a space for the T), without time zone; one with an offset is brought to UTC."""
    date, time = text[:10], text[11:]
    if text[10:11] not in ("T", "t", " "):
        raise ValueError(f"not a timestamp: {text!r}")
    parsed, offset = _time_and_offset(time)
    return dt.datetime.combine(parse_date(date), parsed) - offset


def parse_instant(text: str) -> Instant:
    """Read a timestamp as an instant; text without an offset is in UTC."""
    since_epoch = parse_timestamp(text) - dt.datetime(1970, 1, 1)
    return Instant(since_epoch.days * 86_400 + since_epoch.seconds, since_epoch.microseconds * 1000)


def _time_and_offset(text: str) -> tuple[dt.time, dt.timedelta]:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    hour, minute, second, fraction, offset = match.groups()
    micros = int(fraction.ljust(6, "0")[:6]) if fraction else 0
    time = dt.time(int(hour), int(minute), int(second or 0), micros)
    if offset is None or offset == "Z":
        return time, dt.timedelta()
    shift = dt.timedelta(hours=int(offset[1:3]), minutes=int(offset[3:].strip(":") or 0))
    return time, shift if offset[0] == "+" else -shift


def _fraction(microsecond: int) -> str:
    if not microsecond:
        return ""
    return f".{microsecond // 1000:03d}" if microsecond % 1000 == 0 else f".{microsecond:06d}"


def format_rfc_time(time: dt.time) -> str:
    """``12:34:56Z``."""
    return f"{time:%H:%M:%S}{_fraction(time.microsecond)}Z"


def format_rfc_timestamp(moment: dt.datetime) -> str:
    """``2024-02-29T12:34:56.789Z``."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.timezone.utc)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')[:19]}{_fraction(moment.microsecond)}Z"


def format_instant(instant: Instant) -> str:
    """As ``format_rfc_timestamp``."""
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)
    return format_rfc_timestamp(moment)


def parse_boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f"not a boolean: {text!r}")
    return lowered == "true"
