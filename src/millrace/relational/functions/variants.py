"""VARIANT: values that carry their own type, stored as JSON text without blanks; CAST from and to VARIANT, and its
functions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from millrace.relational import precision
from millrace.relational import types as t
from millrace.relational.functions.casting import SignatureError, is_number, is_text
from millrace.relational.functions.json_text import read_json, write_json, writer
from millrace.relational.functions.registry import (
    BOOLEAN,
    TEXT,
    Column,
    Signature,
    Surroundings,
    by_row,
    scalar,
    signature,
    takes,
)
from millrace.relational.functions.text_values import CastError, double_text
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType

# CAST

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
