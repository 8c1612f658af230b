"""Single values of JSON as values of SQL types."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.json.text import storable
from millrace.relational.types import DataType

JSON_NUMBERS = (t.IntegralType, t.FloatType, t.DoubleType, t.DecimalType)


def scalar_converter(data_type: DataType) -> Callable[[Any], Any]:
    """What makes a value of a type of a single value of JSON; it raises ValueError or ArithmeticError if it cannot."""
    if is_text(data_type):
        return lambda value: str(value).lower() if isinstance(value, bool) else storable(str(value))
    if isinstance(data_type, t.BooleanType):
        return _boolean
    if isinstance(data_type, t.IntegralType):
        return lambda value: _whole(_number(value), data_type)
    if isinstance(data_type, t.DecimalType):
        return lambda value: _decimal(_number(value), data_type)
    return lambda value: float(_number(value))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError(f"{value!r} is not BOOLEAN")
    return bool(value == "true")


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    try:
        return Decimal(value)
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is not a number") from error


def _whole(value: Decimal, data_type: t.IntegralType) -> int:
    if not value.is_finite():
        raise ValueError(f"{value} is not a number")
    found = int(value.to_integral_value(ROUND_DOWN))
    if not -(2 ** (data_type.bits - 1)) <= found < 2 ** (data_type.bits - 1):
        raise ValueError(f"{found} is too large for {data_type}")
    return found


def _decimal(value: Decimal, data_type: t.DecimalType) -> Decimal:
    try:
        found = value.quantize(Decimal(1).scaleb(-data_type.scale), ROUND_HALF_UP)
    except InvalidOperation:
        found = None
    if found is None or len(found.as_tuple().digits) > data_type.precision:
        raise ValueError(f"{value} is too large for {data_type}")
    return found
