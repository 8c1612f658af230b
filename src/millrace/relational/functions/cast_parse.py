"""Text as values, as CAST from STRING reads it. Blanks around are ignored.

Every function raises ``CastError`` for a text that it cannot read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions import decimals
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of

Parse = Callable[[str], Any]


class CastError(ValueError):
    """A value that a CAST cannot convert."""


_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_WHOLE = re.compile(r"([+-]?)(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FLOAT = re.compile(rf"({_DECIMAL.pattern})[fFdD]?|[+-]?(?:NaN|Infinity)")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
"""as Java reads it: 0x1.8p3 is 12"""
_DATE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?(?: .*)?", re.DOTALL)
_TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?)?"
)
_MONTHS = re.compile(r"([+-]?)([0-9]+)-([0-9]+)")
_SPAN = re.compile(r"([+-]?)([0-9]+) ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?")


def parser(target: DataType, zone: str) -> Parse | None:
    """The function from text to a value of the type (as Arrow takes it); None for a type that has no text form."""
    read = _reader(target, zone)
    if read is None:
        return None

    def parse(text: str) -> Any:
        try:
            return read(text.strip())
        except (ValueError, OverflowError, InvalidOperation):
            raise CastError(f"cannot read {text!r} as {target.sql()}") from None

    return parse


def _reader(target: DataType, zone: str) -> Parse | None:
    if isinstance(target, t.IntegralType):
        return lambda text: _whole(text, target.bits)
    if isinstance(target, t.DecimalType):
        return lambda text: _decimal(text, target)
    if isinstance(target, (t.FloatType, t.DoubleType)):
        return _float
    if isinstance(target, t.BooleanType):
        return _boolean
    if isinstance(target, t.DateType):
        return _date
    if isinstance(target, t.TimeType):
        return lambda text: _time(text, target.precision)
    if isinstance(target, t.TimestampType):
        return lambda text: _timestamp(text, target.precision)
    if isinstance(target, t.LocalZonedTimestampType):
        local = zone_of(zone)
        return lambda text: _timestamp(text, target.precision).replace(tzinfo=local).astimezone(dt.timezone.utc)
    if isinstance(target, t.YearMonthIntervalType):
        return _months
    if isinstance(target, t.DayTimeIntervalType):
        return _span
    return None


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return match


def _boolean(text: str) -> bool:
    lower = text.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise ValueError(text)


def _whole(text: str, bits: int) -> int:
    """A fraction is read and cut off."""
    sign, digits = _matched(_WHOLE, text).groups()
    value = int(digits or 0)
    if sign == "-":
        value = -value
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(text)
    return value


def _decimal(text: str, target: t.DecimalType) -> Decimal | None:
    """NULL for what has too many digits before the point."""
    return decimals.fit(decimals.EXACT.create_decimal(_matched(_DECIMAL, text)[0]), target.precision, target.scale)


def _float(text: str) -> float:
    binary = _HEXADECIMAL.fullmatch(text)
    if binary is not None:
        return float.fromhex(binary[1])
    return float(_matched(_FLOAT, text)[1] or text)


def _date(text: str) -> dt.date:
    year, month, day = _matched(_DATE, text).groups()
    return dt.date(int(year), int(month or 1), int(day or 1))


def _microseconds(digits: str | None, precision: int) -> int:
    return int((digits or "")[:precision].ljust(6, "0")[:6])


def _time(text: str, precision: int) -> dt.time:
    hour, minute, second, digits = _matched(_TIME, text).groups()
    return dt.time(int(hour), int(minute or 0), int(second or 0), _microseconds(digits, precision))


def _timestamp(text: str, precision: int) -> dt.datetime:
    *parts, digits = _matched(_TIMESTAMP, text).groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    return dt.datetime(year, month, day, hour, minute, second, _microseconds(digits, precision))


def _months(text: str) -> int:
    sign, years, months = _matched(_MONTHS, text).groups()
    total = int(years) * 12 + int(months)
    return -total if sign == "-" else total


def _span(text: str) -> dt.timedelta:
    sign, days, hours, minutes, seconds, digits = _matched(_SPAN, text).groups()
    total = dt.timedelta(int(days), int(seconds), _microseconds(digits, 9), minutes=int(minutes), hours=int(hours))
    return -total if sign == "-" else total
