"""Converts single values to text and back, as CAST does: blanks around text are ignored, numbers are printed with
Java's digits, times with the digits of their type.
"""

from __future__ import annotations

import datetime as dt
import pickle
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from millrace.relational import types as t
from millrace.relational.bitmap_values import bitmap_text
from millrace.relational.precision import EXACT, fit
from millrace.relational.time_zones import zone_of
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

# Text as values

Parse = Callable[[str], Any]


class CastError(ValueError):
    """A value that a CAST cannot convert."""

    row: int | None = None
    """position of the value in its column; None: unknown"""


_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_WHOLE = re.compile(r"([+-]?)(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]+)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FLOAT = re.compile(rf"({_DECIMAL.pattern})[fFdD]?|[+-]?(?:NaN|Infinity)")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
"""Hexadecimal floats as Java reads them: 0x1.8p3 is 12."""
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


def _instant_parser(target: t.LocalZonedTimestampType, zone: str) -> Parse:
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
    return fit(EXACT.create_decimal(_matched(_DECIMAL, text)[0]), target.precision, target.scale)


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
    Family.INSTANT: _instant_parser,
    Family.MONTHS: lambda kind, zone: _months,
    Family.SPAN: lambda kind, zone: _span,
}


# Values as text

Format = Callable[[Any], str]
_NULL = "NULL"
_PLAIN_FROM, _PLAIN_BELOW = -3, 7
"""powers of ten between which Java writes floating numbers without an exponent"""
_PLAIN_NUMBERS = 10.0**_PLAIN_FROM, 10.0**_PLAIN_BELOW
_REPR_BELOW = 1e16
"""where Python begins to print with an exponent"""


def formatter(source: DataType, zone: str) -> Format | None:
    """The function from a value (as Arrow gives it) to its text; None for a type without text form."""
    make = _FORMATS.get(family_of(source))
    found: Format | None = make and make(source, zone)
    return found


def _array(source: DataType, zone: str) -> Format | None:
    element = _inside(parts_of(source)[0], zone)
    return element and (lambda value: f"[{', '.join(map(element, value))}]")


def _row(source: DataType, zone: str) -> Format | None:
    parts = [_inside(each, zone) for each in parts_of(source)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return lambda value: f"({', '.join(part(field) for part, field in zip(known, value.values()))})"


def _map(source: DataType, zone: str) -> Format | None:
    key, item = (_inside(each, zone) for each in parts_of(source))
    if key is None or item is None:
        return None
    return lambda value: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value) + "}"


def _instant_format(source: t.LocalZonedTimestampType, zone: str) -> Format:
    local = zone_of(zone)
    return lambda value: timestamp_text(value.astimezone(local), source.precision)


def _inside(source: DataType, zone: str) -> Format | None:
    """As part of an array, map or row, where NULL has a text too."""
    each = formatter(source, zone)
    return each and (lambda value: _NULL if value is None else each(value))


def double_text(value: float) -> str:
    """A DOUBLE as Java prints it: 1.0, 1.0E10, NaN, -Infinity."""
    size = abs(value)
    if _PLAIN_NUMBERS[0] <= size < _PLAIN_NUMBERS[1]:
        return repr(value)  # here Python prints the same
    if _PLAIN_NUMBERS[1] <= size < _REPR_BELOW:
        # Python's digits are Java's, too: only the point is elsewhere.
        whole, _, after = repr(size).partition(".")
        digits = (whole + after).rstrip("0")
        if len(digits) > 1:
            return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:]}E{len(whole) - 1}"
    return _java(value, repr, float)


def float_text(value: float) -> str:
    """A FLOAT as Java prints it: the shortest digits that tell it from other floats."""
    return _java(value, lambda each: np.format_float_scientific(np.float32(each), unique=True), np.float32)


def _java(value: float, shortest: Callable[[float], str], read: Callable[[str], Any]) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest(value)).normalize().as_tuple()
    if len(digits) == 1 and read(two := f"{value:.1e}") == read(repr(value)):
        # Java tries two digits before it is content with one: 4.9E-324.
        sign, digits, exponent = Decimal(two).normalize().as_tuple()
    text = "".join(map(str, digits))
    minus = "-" if sign else ""
    if text == "0":
        return minus + "0.0"
    point = len(text) + int(exponent)  # digits before the decimal point
    if _PLAIN_FROM < point <= _PLAIN_BELOW:
        whole = text[:point].ljust(point, "0") if point > 0 else "0"
        fraction = text[point:] if point > 0 else "0" * -point + text
        return f"{minus}{whole}.{fraction or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def timestamp_text(value: dt.datetime, precision: int) -> str:
    """``2021-09-24 12:34:56.123``, with exactly ``precision`` digits after the second."""
    whole = f"{value.year:04}-{value.month:02}-{value.day:02} {value.hour:02}:{value.minute:02}:{value.second:02}"
    return f"{whole}.{fraction(value.microsecond, precision)}" if precision else whole


def fraction(microsecond: int, precision: int) -> str:
    return f"{microsecond:06}".ljust(precision, "0")[:precision]


def time_text(value: dt.time, precision: int) -> str:
    """``12:34:56.12``: up to ``precision`` digits, without zeros at the end but for the first."""
    whole = f"{value.hour:02}:{value.minute:02}:{value.second:02}"
    if not precision:
        return whole
    digits = fraction(value.microsecond, precision)
    return f"{whole}.{digits.rstrip('0') or '0'}"


def _months_text(value: int) -> str:
    years, months = divmod(abs(value), 12)
    return f"{'-' if value < 0 else '+'}{years}-{months:02}"


def _span_text(value: dt.timedelta) -> str:
    milliseconds = abs(value) // dt.timedelta(milliseconds=1)
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    sign = "-" if value < dt.timedelta(0) else "+"
    return f"{sign}{days} {hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"


_FORMATS: ByFamily = {
    **dict.fromkeys((Family.NULL, Family.INTEGER, Family.TEXT), lambda kind, zone: str),
    Family.BOOLEAN: lambda kind, zone: lambda value: "TRUE" if value else "FALSE",
    Family.APPROXIMATE: lambda kind, zone: float_text if isinstance(kind, t.FloatType) else double_text,
    Family.DECIMAL: lambda kind, zone: lambda value: format(value, "f"),
    Family.BYTES: lambda kind, zone: lambda value: value.decode("utf-8", "replace"),
    Family.DATE: lambda kind, zone: lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}",
    Family.TIME: lambda kind, zone: lambda value: time_text(value, kind.precision),
    Family.TIMESTAMP: lambda kind, zone: lambda value: timestamp_text(value, kind.precision),
    Family.INSTANT: _instant_format,
    Family.MONTHS: lambda kind, zone: _months_text,
    Family.SPAN: lambda kind, zone: _span_text,
    Family.RAW: lambda kind, zone: lambda value: str(pickle.loads(value)),
    Family.BITMAP: lambda kind, zone: bitmap_text,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}


# Text in character sets

_BIG_ENDIAN_MARK = b"\xfe\xff"


def decoded_text(value: bytes, charset: str) -> str:
    if charset == "utf-16" and value[:2] not in (b"\xff\xfe", _BIG_ENDIAN_MARK):
        charset = "utf-16-be"
    return value.decode(charset, "replace")


def encoded_text(text: str, charset: str) -> bytes:
    if charset == "utf-16":
        return (_BIG_ENDIAN_MARK if text else b"") + text.encode("utf-16-be", "replace")
    return text.encode(charset, "replace")
