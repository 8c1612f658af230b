"""Values as text, as CAST to STRING gives it: numbers as Java prints them, times with the digits of their type."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from millrace.relational import types as t
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType
from millrace.relational.zones import zone_of

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


def _bitmap(value: bytes) -> str:
    # Functions are found by types, whose values have texts: they cannot be there first.
    from millrace.relational.functions.collections.bitmaps import text_of

    return text_of(value)


def _instant(source: t.LocalZonedTimestampType, zone: str) -> Format:
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
    Family.INSTANT: _instant,
    Family.MONTHS: lambda kind, zone: _months_text,
    Family.SPAN: lambda kind, zone: _span_text,
    Family.RAW: lambda kind, zone: lambda value: str(pickle.loads(value)),
    Family.BITMAP: lambda kind, zone: _bitmap,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}
