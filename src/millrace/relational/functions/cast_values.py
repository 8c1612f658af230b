"""CAST of single values: for every pair of types the function that converts, or the reason why the cast does not
exist."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from millrace.relational import precision
from millrace.relational import types as t
from millrace.relational.functions.casting import as_decimal, is_bytes, is_number, is_text
from millrace.relational.functions.text_values import CastError, formatter, parser
from millrace.relational.functions.time_values import FIXED
from millrace.relational.functions.variants import from_variant, to_variant
from millrace.relational.time_zones import zone_of
from millrace.relational.types import DataType

Convert = Callable[[Any], Any]

_TIMESTAMPS = (t.TimestampType, t.LocalZonedTimestampType)
_INTERVALS = (t.YearMonthIntervalType, t.DayTimeIntervalType)
_EPOCH = dt.date(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)


def caster(source: DataType, target: DataType, zone: str = "UTC") -> Convert | None:
    """The function that converts values; None if there is no such CAST."""
    if isinstance(source, t.VariantType):
        return from_variant(target)
    if isinstance(target, t.VariantType):
        return to_variant(source)
    if is_text(target):
        return _to_text(source, target, zone)
    if isinstance(source, t.NullType):
        return _same
    if is_text(source) and not is_bytes(target):
        read = parser(target, zone)
        return _within(read, target) if read is not None and isinstance(target, t.DecimalType) else read
    if is_bytes(target):
        return _to_bytes(source, target)
    if isinstance(source, (t.ArrayType, t.MapType, t.MultisetType, t.RowType)):
        return _nested(source, target, zone)
    if isinstance(target, t.BooleanType):
        return bool if is_number(source) or isinstance(source, t.BooleanType) else None
    if is_number(target):
        return _to_number(source, target)
    if isinstance(target, _INTERVALS):
        return _to_interval(source, target)
    if isinstance(target, (t.DateType, t.TimeType, *_TIMESTAMPS)):
        return _to_time(source, target, zone)
    return _same if source.is_same(target) else None


def why_not(source: DataType, target: DataType) -> str:
    """What to do where there is no CAST."""
    numeric_to_time = is_number(source) and isinstance(target, _TIMESTAMPS)
    if numeric_to_time and isinstance(target, t.TimestampType):
        return "use TO_TIMESTAMP(FROM_UNIXTIME(numeric)), or TO_TIMESTAMP_LTZ(numeric, precision)"
    if numeric_to_time:
        return "use TO_TIMESTAMP_LTZ(numeric, precision)"
    if is_number(target) and isinstance(source, _TIMESTAMPS):
        return "use UNIX_TIMESTAMP(CAST(timestamp AS STRING)), or EXTRACT"
    return "CAST to STRING goes between most types"


def may_be_null(source: DataType, target: DataType) -> bool:
    """Whether a CAST may give NULL for a value: a DECIMAL with too many digits, or null inside of a VARIANT."""
    if isinstance(source, t.VariantType):
        return True
    if not isinstance(target, t.DecimalType):
        return False
    if is_text(source):
        return False
    if isinstance(source, (t.IntegralType, t.DecimalType)):
        exact = as_decimal(source)
        return target.precision - target.scale < exact.precision - exact.scale + (exact.scale > target.scale)
    return not isinstance(source, t.BooleanType) or target.precision == target.scale


def _same(value: Any) -> Any:
    return value


def _within(read: Convert, target: DataType) -> Convert:
    """A text with more digits than a DECIMAL has is an error, as one that is no number; a number gives NULL."""

    def convert(text: str) -> Any:
        found = read(text)
        if found is None:
            raise CastError(f"{text!r} has too many digits for {target.sql()}")
        return found

    return convert


# -- text and bytes ---------------------------------------------------------------------------------------------------


def _to_text(source: DataType, target: DataType, zone: str) -> Convert | None:
    text = formatter(source, zone)
    length: int = target.length  # type: ignore[attr-defined]
    if text is None or length == t.MAX_LENGTH:
        return text
    if isinstance(target, t.CharType):
        return lambda value: text(value)[:length].ljust(length)
    return lambda value: text(value)[:length]


def _to_bytes(source: DataType, target: DataType) -> Convert | None:
    length: int = target.length  # type: ignore[attr-defined]
    if is_text(source):
        raw: Convert = str.encode
    elif is_bytes(source) or isinstance(source, t.BitmapType):
        raw = bytes
    elif isinstance(source, t.RawType):
        raw = _bytes_of_raw
    else:
        return None
    if isinstance(target, t.BinaryType):
        return lambda value: raw(value)[:length].ljust(length, b"\0")
    return lambda value: raw(value)[:length]


def _bytes_of_raw(value: bytes) -> bytes:
    found = pickle.loads(value)
    return found if isinstance(found, bytes) else value


# -- numbers ----------------------------------------------------------------------------------------------------------


def wrap(value: int, bits: int) -> int:
    """The lowest bits as a signed number, as Java narrows."""
    half = 1 << bits - 1
    return (value + half) % (2 * half) - half


def saturate(value: float, bits: int) -> int:
    """Towards zero, NaN as 0, too large numbers as the largest, as Java makes whole numbers of floating ones."""
    wide = max(bits, 32)
    if math.isnan(value):
        return 0
    largest = (1 << wide - 1) - 1
    if math.isinf(value) or abs(value) >= largest:
        return wrap(largest if value > 0 else -largest - 1, bits)
    return wrap(int(value), bits)


def _to_number(source: DataType, target: DataType) -> Convert | None:
    if isinstance(source, _INTERVALS) and isinstance(target, (t.IntegralType, t.DecimalType)):
        to_number = _to_number(t.BigIntType(), target)
        count = _months if isinstance(source, t.YearMonthIntervalType) else _milliseconds
        return to_number and (lambda value: to_number(count(value, target)))
    if not is_number(source) and not isinstance(source, t.BooleanType):
        return None
    floating = isinstance(source, (t.FloatType, t.DoubleType))
    if isinstance(target, t.IntegralType):
        bits = target.bits
        if floating:
            return lambda value: saturate(value, bits)
        return lambda value: wrap(int(value), bits)
    if isinstance(target, t.DecimalType):
        exact = _decimal_of_double if floating else (lambda value: Decimal(int(value)))
        if isinstance(source, t.DecimalType):
            exact = _same
        return lambda value: precision.fit(exact(value), target.precision, target.scale)
    return float


def _months(value: int, target: DataType) -> int:
    return _fitting(value, "months", target)


def _milliseconds(value: dt.timedelta, target: DataType) -> int:
    return _fitting(value // _MILLISECOND, "milliseconds", target)


def _fitting(count: int, unit: str, target: DataType) -> int:
    """The length of an interval. Cut to fewer bits, as numbers are, it would be that of another one.

    :raises CastError: the type does not hold it.
    """
    if isinstance(target, t.IntegralType) and wrap(count, target.bits) != count:
        raise CastError(f"{count} {unit} are no {target.sql()}")
    return count


def _decimal_of_double(value: float) -> Decimal:
    if not math.isfinite(value):
        raise CastError("cannot make a DECIMAL of NaN or Infinity")
    return Decimal(repr(value))


def _to_interval(source: DataType, target: DataType) -> Convert | None:
    if type(source) is type(target):
        return _same
    if not isinstance(source, (t.IntegralType, t.DecimalType)):
        return None
    if isinstance(target, t.YearMonthIntervalType):
        months = 12 if target.resolution is t.YearMonthIntervalType.YearMonthResolution.YEAR else 1
        return lambda value: wrap(int(value) * months, 32)
    unit = dt.timedelta(microseconds=FIXED.get(target.resolution.name, 1_000))  # type: ignore[attr-defined]
    return lambda value: int(value) * unit


# -- times ------------------------------------------------------------------------------------------------------------


def _to_time(source: DataType, target: DataType, zone: str) -> Convert | None:
    """By way of a date and time in the zone of the session."""
    local = zone_of(zone)
    into: dict[type[DataType], Convert] = {
        t.DateType: lambda value: dt.datetime(value.year, value.month, value.day),
        t.TimeType: lambda value: dt.datetime.combine(_EPOCH, value),
        t.TimestampType: _same,
        t.LocalZonedTimestampType: lambda value: value.astimezone(local).replace(tzinfo=None),
    }
    start = into.get(type(source))
    if start is None or {type(source), type(target)} == {t.DateType, t.TimeType}:
        return None
    if isinstance(target, t.DateType):
        return lambda value: start(value).date()
    digits: int = min(6, target.precision)  # type: ignore[attr-defined]
    unit = 10 ** (6 - digits)

    def cut(value: dt.datetime) -> dt.datetime:
        return value.replace(microsecond=value.microsecond // unit * unit)

    if isinstance(target, t.TimeType):
        return lambda value: cut(start(value)).time()
    if isinstance(target, t.TimestampType):
        return lambda value: cut(start(value))
    if isinstance(source, t.LocalZonedTimestampType):
        return cut
    return lambda value: cut(start(value)).replace(tzinfo=local).astimezone(dt.timezone.utc)


# -- what has parts ---------------------------------------------------------------------------------------------------


def _nested(source: DataType, target: DataType, zone: str) -> Convert | None:
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        element = _part(source.element_type, target.element_type, zone)
        return element and (lambda value: list(map(element, value)))
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        key, item = _part(source.key_type, target.key_type, zone), _part(source.value_type, target.value_type, zone)
        return _pairs(key, item)
    if isinstance(source, t.MultisetType) and isinstance(target, t.MultisetType):
        return _pairs(_part(source.element_type, target.element_type, zone), _same)
    if isinstance(source, t.RowType) and isinstance(target, t.RowType) and len(source) == len(target):
        parts = [_part(a, b, zone) for a, b in zip(source.field_types(), target.field_types())]
        names = target.field_names()
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return lambda value: {name: part(field) for name, part, field in zip(names, known, value.values())}
    return None


def _pairs(key: Convert | None, item: Convert | None) -> Convert | None:
    if key is None or item is None:
        return None
    return lambda value: [(key(k), item(v)) for k, v in value]


def _part(source: DataType, target: DataType, zone: str) -> Convert | None:
    each = caster(source, target, zone)
    return each and (lambda value: None if value is None else each(value))
