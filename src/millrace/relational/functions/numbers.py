"""Functions of numbers: the operators ``+ - * / %``, rounding, roots, powers, logarithms, angles (outside of their
domain they give NaN or an infinity), and numbers written in base 2 and 16.
"""

from __future__ import annotations

import binascii
import decimal
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import precision
from millrace.relational import types as t
from millrace.relational.functions.cast_values import wrap
from millrace.relational.functions.registry import (
    BIGINT,
    BYTES_TYPE,
    DOUBLE,
    DOUBLE_TYPE,
    NUMERIC,
    STRING,
    TEXT,
    WHOLE,
    Column,
    Infer,
    Signature,
    SignatureError,
    Surroundings,
    as_decimal,
    by_row,
    common_type,
    constant_number,
    first,
    is_number,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex, rex_text
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType, DecimalType

# Division by zero


def division_by_zero(call: Call) -> str:
    """The message for a call of ``/`` or ``%``."""
    left, right = (rex_text(arg, ()) for arg in call.args)
    return f"division by zero: {left} {call.function} {right}. Guard it with CASE, or divide by NULLIF({right}, 0)"


def spark_exact_division(call: Call, args: Sequence[str], operator: str) -> str:
    """``/``, ``DIV`` or ``%`` of exact numbers, with an error for a divisor of zero."""
    left, right = args
    plain = f"({left} {operator} {right})"
    divisor = call.args[1]
    if isinstance(divisor, Literal) and divisor.value:
        return plain
    message = division_by_zero(call).replace("\\", "\\\\").replace("'", "\\'")
    zero = f"{right} = 0"
    if call.args[0].type.is_nullable:
        zero += f" AND {left} IS NOT NULL"
    return f"CASE WHEN {zero} THEN raise_error('{message}') ELSE {plain} END"


def spark_double_division(call: Call, args: Sequence[str], operator: str) -> str:
    """``/`` or ``%`` of floating numbers by IEEE 754."""
    left, right = args
    wanted = "FLOAT" if isinstance(call.type, t.FloatType) else "DOUBLE"
    plain = f"CAST({left} {operator} {right} AS {wanted})"
    divisor = call.args[1]
    if isinstance(divisor, Literal) and divisor.value:
        return plain
    if operator == "%":
        limit = f"{wanted}('NaN')"
    else:
        limit = f"IF(CAST({right} AS STRING) = '-0.0', {wanted}('-Infinity'), {wanted}('Infinity'))"
    return f"CASE WHEN {right} = 0 THEN {left} * {limit} ELSE {plain} END"


# Arithmetic

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
    return by_row(call, args, lambda a, b: precision.fit(compute(a, b), wanted.precision, wanted.scale))


def _ring(sign: str, kernel: Any, exact: Callable[[Decimal, Decimal], Decimal], rule: DecimalRule) -> None:
    """``+``, ``-`` and ``*``: Arrow has Flink's rules for DECIMAL as long as 38 digits are enough."""

    def fits(call: Call) -> bool:
        if not isinstance(call.type, DecimalType):
            return True
        a, b = (arg.type for arg in call.args)
        assert isinstance(a, DecimalType) and isinstance(b, DecimalType)
        if sign == "*":
            return a.precision + b.precision + 1 <= precision.MOST
        return max(a.precision - a.scale, b.precision - b.scale) + max(a.scale, b.scale) + 1 <= precision.MOST

    def spark(call: Call, args: Sequence[str]) -> str | None:
        if len(args) == 1:
            keeps = sign == "+" or precision.spark_keeps(call.type)
            return f"({sign} {args[0]})" if keeps else precision.spark_negated(args[0], call.type)
        # Spark's types of DECIMAL results are Flink's, and it rounds once.
        return f"({args[0]} {sign} {args[1]})"

    @scalar(sign, numbers(rule, unary=sign != "*"), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        if len(args) == 1:
            return pc.negate(args[0]) if sign == "-" else args[0]
        return kernel(args[0], args[1]) if fits(call) else exactly(call, args, exact)


_ring("+", pc.add, precision.EXACT.add, precision.addition_type)
_ring("-", pc.subtract, precision.EXACT.subtract, precision.addition_type)
_ring("*", pc.multiply, precision.EXACT.multiply, precision.multiplication_type)


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
        if whole + last < precision.MOST:
            return spark_exact_division(call, args, "/")
        return None
    return spark_double_division(call, args, "/")


@scalar("/", numbers(precision.division_type), spark=_spark_divide)
def _divide(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    left, right = args
    if isinstance(call.type, DecimalType):
        _refuse_zero(call, left, right)
        return exactly(call, args, precision.QUOTIENT.divide)
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
    """The result type of ``%``: that of the divisor for whole numbers, also if the other argument is a DECIMAL."""
    found = numbers(precision.remainder_type)(args, options)
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
        return exactly(call, args, precision.EXACT.remainder)
    if isinstance(call.args[0].type, DecimalType):
        return by_row(call, args, lambda a, b: int(precision.EXACT.remainder(a, b)))
    rest = pc.subtract(left, pc.multiply(_quotient(left, right), right))
    return rest.cast(arrow_type(call.type))


def _float_remainder(left: float, right: float) -> float:
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)


# Rounding

_SAME = takes(NUMERIC, result=first)


def _spark_abs(call: Call, args: Sequence[str]) -> str | None:
    if precision.spark_keeps(call.type):
        return f"abs({args[0]})"
    negated = precision.spark_negated(args[0], call.type)
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
        one = precision.fit(Decimal(1), call.type.precision, call.type.scale)
        return by_row(call, args, lambda each: one and one.copy_sign(each) if each else each)
    zero = pc.equal(value, pa.scalar(0, value.type))
    return pc.if_else(zero, value, pc.sign(value).cast(value.type))


def _infer_whole(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """The result type of CEIL and FLOOR: a DECIMAL loses its fraction."""
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
            return by_row(call, args, lambda value: precision.fit(value, wanted.precision, 0, rounding))
        return args[0] if isinstance(wanted, t.IntegralType) else kernel(args[0])


_register_whole("CEIL", ("CEILING",), pc.ceil, decimal.ROUND_CEILING)
_register_whole("FLOOR", (), pc.floor, decimal.ROUND_FLOOR)


def _infer_digits() -> Infer:
    taken = takes(NUMERIC, WHOLE, optional=1, result=first)

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        """The digits of a DECIMAL's result depend on the second argument, which must be known for that."""
        found = taken(args, options)
        given = found.args[0]
        digits = constant_number(args[1]) if len(args) == 2 else 0
        if not isinstance(given, DecimalType) or digits is None:
            return found
        result = precision.rounding_type(given, digits)
        return signature(found.args, result, result.is_nullable or None)

    return infer


def _to_digits(value: Decimal, digits: int, rounding: str) -> Decimal:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return value if exponent >= -digits else value.quantize(precision.last_place(digits), rounding, precision.EXACT)


def _register_digits(name: str, rounding: str) -> None:
    def of_number(wanted: DataType) -> Callable[..., Any]:
        def of_decimal(value: Decimal, digits: int = 0) -> Decimal | None:
            assert isinstance(wanted, DecimalType)
            return precision.fit(_to_digits(value, digits, rounding), wanted.precision, wanted.scale)

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


# Functions of DOUBLEs

_ONE = takes(DOUBLE, result=DOUBLE_TYPE)
_TWO = takes(DOUBLE, DOUBLE, result=DOUBLE_TYPE)
_NAN, _ONE_VALUE = pa.scalar(math.nan), pa.scalar(1.0)


def _log(name: str) -> str:
    """Spark's logarithms give NULL where Java's give NaN or -Infinity."""
    return (
        f"CASE WHEN {{0}} > 0 THEN {name} WHEN {{0}} = 0 THEN DOUBLE('-Infinity')"
        " WHEN {0} IS NOT NULL THEN DOUBLE('NaN') END"
    )


def _register(name: str, kernel: Callable[[Column], Column], spark: str | None = None) -> None:
    @scalar(name, _ONE, spark=spark or f"{name.lower()}({{0}})")
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return kernel(args[0])


def _factor(number: float) -> Callable[[Column], Column]:
    return lambda value: pc.multiply(value, pa.scalar(number))


_register("SQRT", pc.sqrt)
_register("EXP", pc.exp)
_register("LN", pc.ln, _log("ln({0})"))
_register("LOG10", pc.log10, _log("log10({0})"))
_register("LOG2", lambda value: pc.divide(pc.ln(value), pa.scalar(math.log(2))), _log("ln({0}) / ln(2D)"))
_register("SIN", pc.sin)
_register("COS", pc.cos)
_register("TAN", pc.tan)
_register("COT", lambda value: pc.divide(_ONE_VALUE, pc.tan(value)))
_register("ASIN", pc.asin)
_register("ACOS", pc.acos)
_register("ATAN", pc.atan)
_register("SINH", pc.sinh)
_register("COSH", pc.cosh)
_register("TANH", pc.tanh)
_register("DEGREES", _factor(180 / math.pi))
_register("RADIANS", _factor(math.pi / 180))


@scalar("ATAN2", _TWO)  # Spark takes -0.0 for 0.0
def _atan2(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.atan2(*args)


@scalar("POWER", _TWO, spark="power({0}, {1})")
def _power(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    base, exponent = args
    # Java knows no power of 1 by NaN, nor of 1 or -1 by an infinity; C does.
    unknown = pc.or_(pc.is_nan(exponent), pc.and_(pc.is_inf(exponent), pc.equal(pc.abs(base), _ONE_VALUE)))
    return pc.if_else(unknown, pc.if_else(pc.is_valid(base), _NAN, pa.scalar(None, pa.float64())), pc.power(*args))


@scalar("LOG", takes(DOUBLE, DOUBLE, optional=1, result=DOUBLE_TYPE), syntax="LOG(x) or LOG(base, x)")
def _logarithm(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.ln(args[0]) if len(args) == 1 else pc.divide(pc.ln(args[1]), pc.ln(args[0]))


def _register_constant(name: str, value: float) -> None:
    @scalar(name, takes(result=DOUBLE_TYPE, nullable=False), spark=f"{name.lower()}()")
    def _constant(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return pa.scalar(value)


_register_constant("PI", math.pi)
_register_constant("E", math.e)


# BIN, HEX, UNHEX

_BITS = (1 << 64) - 1
"""negative numbers are written as their 64 bits"""


@scalar("BIN", takes(BIGINT, result=STRING), spark="bin({0})")
def _bin(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: format(value & _BITS, "b"))


@scalar("HEX", takes(BIGINT, result=STRING), spark="hex({0})", syntax="HEX(integer) or HEX(string)")
def _hex(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: format(value & _BITS, "X"))


@scalar("HEX TEXT", takes(TEXT, result=STRING), spark="hex({0})", overload_of="HEX")
def _hex_text(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: value.encode().hex().upper())


@scalar("UNHEX", takes(TEXT, result=BYTES_TYPE, nullable=True))
def _unhex(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, unhex)


def unhex(text: str) -> bytes | None:
    """The bytes that hexadecimal digits write; None for other characters. Of an odd number of digits the first one is
    given up for a zero byte, as Flink does."""
    if len(text) % 2:
        if text[0] not in "0123456789abcdefABCDEF":
            return None
        return _bytes("00" + text[1:])
    return _bytes(text)


def _bytes(text: str) -> bytes | None:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return None
