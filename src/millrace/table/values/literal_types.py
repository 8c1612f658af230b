"""The data types of Python values: constants in expressions, elements without a schema."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from millrace.relational import types as t
from millrace.relational.types import DataType

_INT, _BIGINT = 2**31, 2**63
_SECONDS = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.SECOND, 2, 6, False)


def literal_type(value: Any) -> DataType:
    """The type of a constant: 12 is INT, "abc" CHAR(3). Never nullable but for None.

    :raises TypeError: no type has such values.
    """
    if value is None:
        return t.NullType()
    if isinstance(value, bool):
        return t.BooleanType(False)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, Decimal):
        return decimal_type(value)
    if isinstance(value, (bytes, bytearray)):
        return t.BinaryType(len(value), False)
    if isinstance(value, str):
        return t.CharType(len(value), False)
    if isinstance(value, datetime.datetime):
        digits = fraction_digits(value.microsecond)
        return t.TimestampType(digits, False) if value.tzinfo is None else t.LocalZonedTimestampType(digits, False)
    if isinstance(value, datetime.time):
        return t.TimeType(fraction_digits(value.microsecond), False)
    found = _PLAIN.get(type(value))
    if found is None:
        raise TypeError(f"no data type has values like {value!r} ({type(value).__name__})")
    return found


_PLAIN: dict[type, DataType] = {
    float: t.DoubleType(False),
    datetime.date: t.DateType(False),
    datetime.timedelta: _SECONDS,
}


def _whole(value: int) -> DataType:
    if -_INT <= value < _INT:
        return t.IntType(False)
    if -_BIGINT <= value < _BIGINT:
        return t.BigIntType(False)
    return decimal_type(Decimal(value))


def decimal_type(value: Decimal) -> t.DecimalType:
    """The smallest DECIMAL that has this value."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError(f"no DECIMAL has the value {value}")
    scale = max(0, -exponent)
    return t.DecimalType(max(len(digits) + max(0, exponent), scale, 1), scale, False)


def fraction_digits(microsecond: int) -> int:
    """How many digits after the second a time has: 0, 3 or 6."""
    if microsecond == 0:
        return 0
    return 3 if microsecond % 1000 == 0 else 6
