"""ABS, SIGN, CEIL, FLOOR, ROUND, TRUNCATE of numbers."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import decimals
from millrace.relational import types as t
from millrace.relational.functions.casts.values import wrap
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Infer, Signature, Surroundings, scalar
from millrace.relational.functions.signatures import NUMERIC, WHOLE, first, signature, takes
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType, DecimalType

_SAME = takes(NUMERIC, result=first)


def _spark_abs(call: Call, args: Sequence[str]) -> str | None:
    if decimals.spark_keeps(call.type):
        return f"abs({args[0]})"
    negated = decimals.spark_negated(args[0], call.type)
    return None if negated is None else f"CASE WHEN {args[0]} < 0 THEN {negated} ELSE {args[0]} END"


@scalar("ABS", _SAME, spark=_spark_abs)
def _abs(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.abs(args[0])


def _spark_sign(call: Call, args: Sequence[str]) -> str | None:
    return f"CAST(sign({args[0]}) AS {call.type.sql()})" if isinstance(call.type, t.IntegralType) else None


@scalar("SIGN", _SAME, spark=_spark_sign)
def _sign(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    value = args[0]
    if isinstance(call.type, DecimalType):
        # One, with more digits than a DECIMAL(1, 1) has, is NULL there.
        one = decimals.fit(Decimal(1), call.type.precision, call.type.scale)
        return by_row(call, args, lambda each: one and one.copy_sign(each) if each else each)
    zero = pc.equal(value, pa.scalar(0, value.type))
    return pc.if_else(zero, value, pc.sign(value).cast(value.type))


def _infer_whole(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """Of CEIL and FLOOR: a DECIMAL loses its fraction."""
    found = _SAME(args, options)
    given = found.args[0]
    result: DataType = DecimalType(given.precision) if isinstance(given, DecimalType) else given
    return signature(found.args, result)


def _register_whole(name: str, aliases: tuple[str, ...], kernel: Callable[[Column], Column], rounding: str) -> None:
    def spark(call: Call, args: Sequence[str]) -> str | None:
        if isinstance(call.type, DecimalType):
            return f"CAST({name.lower()}({args[0]}) AS {call.type.sql()})"
        # Spark makes a BIGINT of floating numbers, which loses -0.0 and what is larger.
        return args[0] if isinstance(call.type, t.IntegralType) else None

    @scalar(name, _infer_whole, spark=spark, aliases=aliases)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        wanted = call.type
        if isinstance(wanted, DecimalType):
            return by_row(call, args, lambda value: decimals.fit(value, wanted.precision, 0, rounding))
        return args[0] if isinstance(wanted, t.IntegralType) else kernel(args[0])


_register_whole("CEIL", ("CEILING",), pc.ceil, decimal.ROUND_CEILING)
_register_whole("FLOOR", (), pc.floor, decimal.ROUND_FLOOR)


def constant_number(expression: Rex) -> int | None:
    """The value of a whole number that is written in the query, also with a minus before it."""
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return expression.value
    if isinstance(expression, Call) and expression.function in ("-", "CAST") and len(expression.args) == 1:
        inner = constant_number(expression.args[0])
        return None if inner is None else (-inner if expression.function == "-" else inner)
    return None


def _infer_digits() -> Infer:
    taken = takes(NUMERIC, WHOLE, optional=1, result=first)

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        """The digits of a DECIMAL's result depend on the second argument, which must be known for that."""
        found = taken(args, options)
        given = found.args[0]
        digits = constant_number(args[1]) if len(args) == 2 else 0
        if not isinstance(given, DecimalType) or digits is None:
            return found
        result = decimals.rounding_type(given, digits)
        return signature(found.args, result, result.is_nullable or None)

    return infer


def _to_digits(value: Decimal, digits: int, rounding: str) -> Decimal:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return value if exponent >= -digits else value.quantize(decimals.last_place(digits), rounding, decimals.EXACT)


def _register_digits(name: str, rounding: str) -> None:
    def of_number(wanted: DataType) -> Callable[..., Any]:
        def of_decimal(value: Decimal, digits: int = 0) -> Decimal | None:
            assert isinstance(wanted, DecimalType)
            return decimals.fit(_to_digits(value, digits, rounding), wanted.precision, wanted.scale)

        def of_whole(value: int, digits: int = 0) -> int:
            assert isinstance(wanted, t.IntegralType)
            return value if digits >= 0 else wrap(int(_to_digits(Decimal(value), digits, rounding)), wanted.bits)

        def of_float(value: float, digits: int = 0) -> float:
            return float(_to_digits(Decimal(repr(value)), digits, rounding)) if math.isfinite(value) else value

        if isinstance(wanted, DecimalType):
            return of_decimal
        return of_whole if isinstance(wanted, t.IntegralType) else of_float

    def spark(call: Call, args: Sequence[str]) -> str | None:
        digits = constant_number(call.args[1]) if len(args) == 2 else 0
        if name != "ROUND" or digits is None or digits < 0 or isinstance(call.type, (t.FloatType, t.DoubleType)):
            return None
        rounded = f"CAST(round({args[0]}, {digits}) AS {call.type.sql()})"
        return args[0] if isinstance(call.type, t.IntegralType) else rounded

    @scalar(name, _infer_digits(), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return by_row(call, args, of_number(call.type))


_register_digits("ROUND", decimal.ROUND_HALF_UP)
_register_digits("TRUNCATE", decimal.ROUND_DOWN)
