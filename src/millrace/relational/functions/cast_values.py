"""CAST of single values: for every pair of types the function that converts, or the reason why the cast does not exist.
And VARIANT: values that carry their own type, stored as JSON text without blanks, with its casts and its functions.

Calls of functions as the binder and rules make them: with the casts that their arguments need, and CAST itself.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from millrace.relational import precision
from millrace.relational import types as t
from millrace.relational.functions.json_text import read_json, write_json, writer
from millrace.relational.functions.registry import (
    BOOLEAN,
    TEXT,
    Column,
    Signature,
    SignatureError,
    Surroundings,
    as_decimal,
    by_row,
    is_bytes,
    is_number,
    is_text,
    scalar,
    signature,
    takes,
)
from millrace.relational.functions.text_values import CastError, double_text, formatter, parser
from millrace.relational.functions.time_values import FIXED
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.time_zones import zone_of
from millrace.relational.types import DataType

# VARIANT: CAST

Convert = Callable[[Any], Any]

_WRITTEN = (t.BooleanType, t.IntegralType, t.DecimalType, t.ArrayType, t.MapType, t.RowType)


def from_variant(target: DataType) -> Convert | None:
    """The function from the JSON text of a VARIANT; None if there is no such CAST."""
    read = _reader(target)
    return read and (lambda text: read(read_json(text)))


def to_variant(source: DataType) -> Convert | None:
    """The function from a value to the JSON text of a VARIANT."""
    if isinstance(source, (t.FloatType, t.DoubleType)):
        return _of_float
    if isinstance(source, t.DecimalType):
        return lambda value: f"{value.normalize():f}"
    return writer(source) if is_text(source) or isinstance(source, _WRITTEN) else None


def _of_float(value: float) -> str:
    if not math.isfinite(value):
        raise CastError(f"a VARIANT cannot hold {value}")
    return double_text(value)


def _reader(target: DataType) -> Convert | None:
    read = _present(target)
    return read and (lambda value: None if value is None else read(value))


def _present(target: DataType) -> Convert | None:
    """The function that converts a JSON value other than null to the type; None: VARIANT cannot be cast to it."""
    if is_text(target):
        return lambda value: _text(value, target)
    if isinstance(target, t.BooleanType):
        return lambda value: value if isinstance(value, bool) else _fail(value, target)
    if is_number(target):
        return lambda value: _cast_number(value, target)
    if isinstance(target, t.ArrayType):
        element = _reader(target.element_type)
        return element and (
            lambda value: list(map(element, value)) if isinstance(value, list) else _fail(value, target)
        )
    if isinstance(target, t.MapType) and is_text(target.key_type):
        item = _reader(target.value_type)
        return item and (
            lambda value: (
                [(key, item(each)) for key, each in value.items()] if isinstance(value, dict) else _fail(value, target)
            )
        )
    if isinstance(target, t.RowType):
        return _row(target)
    return (lambda value: write_json(value)) if isinstance(target, t.VariantType) else None


def _row(target: t.RowType) -> Convert | None:
    readers = [_reader(each) for each in target.field_types()]
    known = [read for read in readers if read is not None]
    if len(known) < len(readers):
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return _fail(value, target)
        return {name: read(value.get(name)) for name, read in zip(target.names, known)}

    return convert


def _fail(value: Any, target: DataType) -> Any:
    raise CastError(f"the VARIANT {write_json(value)[:100]} is not a value of {target.sql()}")


def _text(value: Any, target: DataType) -> str:
    text = value if isinstance(value, str) else write_json(value)
    length: int = target.length  # type: ignore[attr-defined]
    fits = len(text) == length if isinstance(target, t.CharType) else len(text) <= length
    return text if fits else str(_fail(value, target))


def _cast_number(value: Any, target: DataType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return _fail(value, target)
    if isinstance(target, t.IntegralType):
        half = 1 << target.bits - 1
        return value if isinstance(value, int) and -half <= value < half else _fail(value, target)
    if isinstance(target, t.DecimalType):
        exact = Decimal(value)
        fitted = precision.fit(exact, target.precision, target.scale)
        return fitted if fitted == exact else _fail(value, target)
    with np.errstate(over="ignore"):
        found = float(np.float32(float(value)) if isinstance(target, t.FloatType) else float(value))
    return found if math.isfinite(found) else _fail(value, target)


# Functions

VARIANT = t.VariantType()
_DIGITS = 38
"""The most digits of exact numbers; numbers with more digits become DOUBLE."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {again!r} comes twice")
    return found


def _number_of_text(text: str) -> Decimal:
    value = Decimal(text) or Decimal(0)  # exact numbers have no negative zero
    exact = "e" not in text.lower() and len(value.as_tuple().digits) <= _DIGITS
    if not exact:
        double = float(value)
        if double in (float("inf"), float("-inf")):
            raise ValueError(f"{text} is too large for a number")
        return _Double(double_text(double))
    plain = f"{value:f}"
    return Decimal(plain.rstrip("0").rstrip(".") if "." in plain else plain)


class _Double(Decimal):
    """A DOUBLE, written as Java does."""

    def __new__(cls, text: str) -> _Double:
        found = super().__new__(cls, text)
        found.text = text
        return found

    text: str

    def __str__(self) -> str:
        return self.text


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_strict = json.JSONDecoder(parse_float=_number_of_text, parse_constant=_refuse, object_pairs_hook=_unique)
_loose = json.JSONDecoder(parse_float=_number_of_text, parse_constant=_refuse)


def canonical(text: str, allow_duplicate_keys: bool | None = False) -> str:
    """Normalise JSON text to the form in which variants are stored.

    :raises ValueError: it is no JSON, or has a key twice.
    """
    try:
        return write_json((_loose if allow_duplicate_keys else _strict).decode(text))
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


@scalar(
    "PARSE_JSON",
    takes(TEXT, BOOLEAN, result=VARIANT, optional=1),
    syntax="PARSE_JSON(json[, allow duplicate keys])",
)
def parse_json(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def parse(text: str, allow: bool = False) -> str:
        try:
            return canonical(text, allow)
        except ValueError as error:
            raise ValueError(f"PARSE_JSON cannot parse {text!r}: {error}. TRY_PARSE_JSON gives NULL then") from error

    return by_row(call, args, parse)


@scalar(
    "TRY_PARSE_JSON",
    takes(TEXT, BOOLEAN, result=VARIANT, optional=1, nullable=True),
    syntax="TRY_PARSE_JSON(json[, allow duplicate keys])",
)
def try_parse_json(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def parse(text: str, allow: bool = False) -> str | None:
        try:
            return canonical(text, allow)
        except ValueError:
            return None

    return by_row(call, args, parse)


def _infer_item(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) == 2 and isinstance(args[0].type, t.VariantType):
        key = args[1]
        if isinstance(key.type, t.IntegralType) or is_text(key.type):
            if isinstance(key, Literal) and isinstance(key.value, int) and key.value < 1:
                raise SignatureError(f"positions in a VARIANT count from 1, there is no {key.value}")
            return signature([VARIANT.with_nullable(args[0].type.is_nullable), key.type], VARIANT, True)
    raise SignatureError("it takes (VARIANT, INTEGER or STRING)")


@scalar("ITEM VARIANT", _infer_item, overload_of="ITEM", syntax="variant[position] or variant[key]")
def item(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL where an array or object has no such element.

    :raises ValueError: a position of what is no array, or a key of what is no object.
    """
    by_position = isinstance(call.args[1].type, t.IntegralType)
    wanted, name = (list, "an array") if by_position else (dict, "an object")

    def get(text: str, key: Any) -> str | None:
        held = _loose.decode(text)
        if not isinstance(held, wanted):
            raise ValueError(f"[{key!r}] of a VARIANT that is not {name}: {text[:100]}")
        if isinstance(held, dict):
            return write_json(held[key]) if key in held else None
        return write_json(held[key - 1]) if 1 <= key <= len(held) else None

    return by_row(call, args, get)


# CAST

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


def fits(constant: Literal, target: DataType, null: bool = False) -> bool:
    """Whether a CAST of a constant that is not NULL gives a value of the type.

    :param null: or NULL, as of a DECIMAL with too many digits.
    """
    convert = caster(constant.type, target)
    try:
        return convert is not None and (convert(constant.value) is not None or null)
    except (ValueError, ArithmeticError):
        return False


def explicit_cast(expression: Rex, target: DataType, attempt: bool = False) -> Call:
    """CAST(expression AS target) as written in a query; with ``attempt`` TRY_CAST.

    :raises SignatureError: there is no such cast. The message says what else to do.
    """
    source = expression.type
    if caster(source, target) is None:
        raise SignatureError(f"{source.sql()} cannot be CAST to {target.sql()}: {why_not(source, target)}")
    nullable = attempt or source.is_nullable or (may_be_null(source, target) and not _holds(expression, target))
    return Call(target.with_nullable(nullable), "TRY_CAST" if attempt else "CAST", (expression,))


def _holds(expression: Rex, target: DataType) -> bool:
    """Whether this is a constant that a DECIMAL has digits enough for."""
    if not isinstance(expression, Literal) or expression.value is None:
        return False
    return isinstance(target, t.DecimalType) and fits(expression, target)
