"""Dates in Java's ``DateTimeFormatter`` patterns, and Java's time zone ids."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["java_formatter", "java_zone"]

_Part = Callable[[dt.datetime], str]
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def java_zone(zone_id: str | None) -> dt.tzinfo | None:
    """The zone of an id such as ``America/Los_Angeles``, ``GMT-08:00``, ``+01:00`` or ``Z``; None is this machine's.

    :raises ValueError: for an unknown id.
    """
    if zone_id is None:
        return None
    if zone_id in ("Z", "UTC", "GMT", "UT"):
        return dt.timezone.utc
    if match := _OFFSET.fullmatch(zone_id):
        sign, hours, minutes, seconds = match.groups()
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return dt.timezone(offset if sign == "+" else -offset)
    try:
        return ZoneInfo(zone_id)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"unknown time zone id {zone_id!r}") from error


def java_formatter(pattern: str) -> Callable[[dt.datetime], str]:
    """A function that formats by a Java pattern: y u M d D E a H k K h m s S, quoted text and other characters.

    :raises ValueError: for a letter that is not supported.
    """
    parts: list[_Part] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            raise ValueError(f"the date pattern {pattern!r} has an opening quote without a closing one")
        text = match.group()
        if match.group(2):
            parts.append(_field(text[0], len(text), pattern))
        elif match.group(1) is not None:
            parts.append(_constant(match.group(1).replace("''", "'") or "'"))
        else:
            parts.append(_constant(text))
        at = match.end()
    return lambda moment: "".join([part(moment) for part in parts])


def _constant(text: str) -> _Part:
    return lambda moment: text


def _field(letter: str, width: int, pattern: str) -> _Part:
    if letter in "yu" and width == 2:
        return lambda moment: f"{moment.year % 100:02d}"
    if letter == "M" and width >= 3:
        return _name("%b" if width == 3 else "%B")
    if letter == "E":
        return _name("%a" if width <= 3 else "%A")
    if letter == "a":
        return _name("%p")
    if letter == "S":
        return lambda moment: f"{moment.microsecond:06d}000"[:width].ljust(width, "0")
    number = _NUMBERS.get(letter)
    if number is None:
        raise ValueError(f"the letter {letter!r} of the date pattern {pattern!r} is not supported")
    return lambda moment: f"{number(moment):0{width}d}"


def _name(directive: str) -> _Part:
    return lambda moment: moment.strftime(directive)


_NUMBERS: dict[str, Callable[[dt.datetime], int]] = {
    "y": lambda moment: moment.year,
    "u": lambda moment: moment.year,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
}
