"""Text as values, as CAST from STRING reads it. Blanks around are ignored.

Every function raises ``CastError`` for a text that it cannot read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from millrace.relational import decimals
from millrace.relational import types as t
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of

Parse = Callable[[str], Any]


class CastError(ValueError):
    """A value that a CAST cannot convert."""

    row: int | None = None
    """its place in the column"""


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
    make = _READERS.get(family_of(target))
    found: Parse | None = make and make(target, zone)
    return found


def _instant(target: t.LocalZonedTimestampType, zone: str) -> Parse:
    local = zone_of(zone)
    return lambda text: _timestamp(text, target.precision).replace(tzinfo=local).astimezone(dt.timezone.utc)


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


_READERS: ByFamily = {
    Family.INTEGER: lambda kind, zone: lambda text: _whole(text, kind.bits),
    Family.DECIMAL: lambda kind, zone: lambda text: _decimal(text, kind),
    Family.APPROXIMATE: lambda kind, zone: _float,
    Family.BOOLEAN: lambda kind, zone: _boolean,
    Family.DATE: lambda kind, zone: _date,
    Family.TIME: lambda kind, zone: lambda text: _time(text, kind.precision),
    Family.TIMESTAMP: lambda kind, zone: lambda text: _timestamp(text, kind.precision),
    Family.INSTANT: _instant,
    Family.MONTHS: lambda kind, zone: _months,
    Family.SPAN: lambda kind, zone: _span,
}
