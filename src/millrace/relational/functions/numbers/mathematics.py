"""Functions of DOUBLEs: roots, powers, logarithms, angles. Outside of their domain they give NaN or an infinity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import DOUBLE, DOUBLE_TYPE, takes
from millrace.relational.rex import Call

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
