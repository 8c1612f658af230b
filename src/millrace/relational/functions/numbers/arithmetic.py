"""The operators ``+ - * / %`` on numbers.

Whole numbers wrap around and are divided towards zero; dividing an exact number by zero is an error, a floating one
gives an infinity or NaN. DECIMAL results have the types of ``functions.decimals`` and are NULL when they do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import decimals
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import as_decimal, common_type, is_number
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.numbers.zero import division_by_zero, spark_double_division, spark_exact_division
from millrace.relational.functions.registry import Column, Infer, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import signature
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DecimalType

DecimalRule = Callable[[DecimalType, DecimalType], DecimalType]


def numbers(rule: DecimalRule, unary: bool = False) -> Infer:
    """Two numbers, cast to their common type; ``rule`` gives the type of the result for DECIMAL."""

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        types = [t.IntType() if isinstance(arg.type, t.NullType) else arg.type for arg in args]
        if len(types) not in ((1, 2) if unary else (2,)) or not all(map(is_number, types)):
            raise SignatureError("it takes (NUMERIC, NUMERIC)" + (" or (NUMERIC)" if unary else ""))
        if len(types) == 1:
            return signature(types, types[0])
        floating = any(isinstance(each, (t.FloatType, t.DoubleType)) for each in types)
        if not floating and any(isinstance(each, DecimalType) for each in types):
            exact = [as_decimal(each) for each in types]
            result = rule(exact[0], exact[1])
            return signature(exact, result, result.is_nullable or None)
        common = common_type(types)
        assert common is not None
        return signature([common.with_nullable(each.is_nullable) for each in types], common)

    return infer


def exactly(call: Call, args: Sequence[Column], compute: Callable[[Decimal, Decimal], Decimal]) -> Column:
    """A DECIMAL result, row by row."""
    wanted = call.type
    assert isinstance(wanted, DecimalType)
    return by_row(call, args, lambda a, b: decimals.fit(compute(a, b), wanted.precision, wanted.scale))


def _ring(sign: str, kernel: Any, exact: Callable[[Decimal, Decimal], Decimal], rule: DecimalRule) -> None:
    """``+``, ``-`` and ``*``: Arrow has Flink's rules for DECIMAL as long as 38 digits are enough."""

    def fits(call: Call) -> bool:
        if not isinstance(call.type, DecimalType):
            return True
        a, b = (arg.type for arg in call.args)
        assert isinstance(a, DecimalType) and isinstance(b, DecimalType)
        if sign == "*":
            return a.precision + b.precision + 1 <= decimals.MOST
        return max(a.precision - a.scale, b.precision - b.scale) + max(a.scale, b.scale) + 1 <= decimals.MOST

    def spark(call: Call, args: Sequence[str]) -> str | None:
        if len(args) == 1:
            keeps = sign == "+" or decimals.spark_keeps(call.type)
            return f"({sign} {args[0]})" if keeps else decimals.spark_negated(args[0], call.type)
        # Spark's types of DECIMAL results are Flink's, and it rounds once.
        return f"({args[0]} {sign} {args[1]})"

    @scalar(sign, numbers(rule, unary=sign != "*"), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        if len(args) == 1:
            return pc.negate(args[0]) if sign == "-" else args[0]
        return kernel(args[0], args[1]) if fits(call) else exactly(call, args, exact)


_ring("+", pc.add, decimals.EXACT.add, decimals.addition_type)
_ring("-", pc.subtract, decimals.EXACT.subtract, decimals.addition_type)
_ring("*", pc.multiply, decimals.EXACT.multiply, decimals.multiplication_type)


def _spark_divide(call: Call, args: Sequence[str]) -> str | None:
    left, right = (arg.type for arg in call.args)
    if isinstance(left, t.IntegralType):
        return f"CAST({spark_exact_division(call, args, 'DIV')} AS {call.type.sql()})"
    if isinstance(left, DecimalType) and isinstance(right, DecimalType) and isinstance(call.type, DecimalType):
        # Flink rounds to 38 digits on the way. That shows where a quotient is so near below a half of the last place
        # that they take it for one. Quotients of A / B are a multiple of 10^-last / B away from halves, and with so$
        # many digits (``whole``) before the point in quotient and B together that is too far.
        whole = left.precision - left.scale + right.scale
        last = max(call.type.scale + 1, left.scale - right.scale)
        if whole + last < decimals.MOST:
            return spark_exact_division(call, args, "/")
        return None
    return spark_double_division(call, args, "/")


@scalar("/", numbers(decimals.division_type), spark=_spark_divide)
def _divide(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    left, right = args
    if isinstance(call.type, DecimalType):
        _refuse_zero(call, left, right)
        return exactly(call, args, decimals.QUOTIENT.divide)
    if isinstance(call.type, (t.FloatType, t.DoubleType)):
        return pc.divide(left, right)
    _refuse_zero(call, left, right)
    return _quotient(left, right)


def _refuse_zero(call: Call, left: Column, right: Column) -> None:
    zero = pc.and_(pc.is_valid(left), pc.equal(right, pa.scalar(0, right.type)))
    if pc.any(zero).as_py() if not isinstance(zero, pa.Scalar) else zero.as_py():
        raise ZeroDivisionError(division_by_zero(call))


def _quotient(left: Column, right: Column) -> Column:
    """Towards zero; the smallest number by -1 is itself, as in Java. Arrow would give 0."""
    return pc.if_else(pc.equal(right, pa.scalar(-1, right.type)), pc.negate(left), pc.divide(left, right))


def _infer_remainder(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """Of whole numbers it has the type of the divisor, also beside a DECIMAL."""
    found = numbers(decimals.remainder_type)(args, options)
    if not all(_is_whole(each) for each in found.args):
        return found
    divisor = t.IntType() if isinstance(args[1].type, t.NullType) else args[1].type
    return signature(found.args, divisor)


def _is_whole(data_type: t.DataType) -> bool:
    return isinstance(data_type, t.IntegralType) or (isinstance(data_type, DecimalType) and data_type.scale == 0)


def _spark_remainder(call: Call, args: Sequence[str]) -> str | None:
    left = call.args[0].type
    if isinstance(left, DecimalType):
        return None
    if isinstance(left, t.IntegralType):
        return f"CAST({spark_exact_division(call, args, '%')} AS {call.type.sql()})"
    return spark_double_division(call, args, "%")


@scalar("%", _infer_remainder, spark=_spark_remainder, aliases=("MOD",))
def _remainder(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """The sign is the dividend's."""
    left, right = args
    if isinstance(call.type, (t.FloatType, t.DoubleType)):
        return by_row(call, args, _float_remainder)
    _refuse_zero(call, left, right)
    if isinstance(call.type, DecimalType):
        return exactly(call, args, decimals.EXACT.remainder)
    if isinstance(call.args[0].type, DecimalType):
        return by_row(call, args, lambda a, b: int(decimals.EXACT.remainder(a, b)))
    rest = pc.subtract(left, pc.multiply(_quotient(left, right), right))
    return rest.cast(arrow_type(call.type))


def _float_remainder(left: float, right: float) -> float:
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)
