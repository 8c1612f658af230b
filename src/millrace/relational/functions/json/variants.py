"""VARIANT: values that bring their own type. They are kept as JSON text without blanks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.json.text import write_json
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN, TEXT, signature, takes
from millrace.relational.printing import double_text
from millrace.relational.rex import Call, Literal, Rex

VARIANT = t.VariantType()
_DIGITS = 38
"""of exact numbers; longer ones are DOUBLE"""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {again!r} comes twice")
    return found


def _number(text: str) -> Decimal:
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


_strict = json.JSONDecoder(parse_float=_number, parse_constant=_refuse, object_pairs_hook=_unique)
_loose = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)


def canonical(text: str, allow_duplicate_keys: bool | None = False) -> str:
    """JSON text in the form in which variants are kept.

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
