"""DECIMAL: types of results by Flink's rules, and values that are fit into a type.

Results have as many digits as they need, at most 38: then digits after the point are given up, but for six. What has
too many digits before the point is NULL.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import cache

from millrace.relational.types import DataType, DecimalType

MOST = DecimalType.MAX_PRECISION
_KEPT_SCALE = 6

EXACT = decimal.Context(
    prec=400, rounding=decimal.ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[]
)
"""wide enough for every sum and product of two DECIMALs, and for doubles"""
QUOTIENT = decimal.Context(prec=MOST, rounding=decimal.ROUND_HALF_UP, traps=[])
"""quotients are first rounded to 38 digits"""


@cache
def last_place(scale: int) -> Decimal:
    """The smallest number with so many digits after the point."""
    return Decimal((0, (1,), -scale))


def spark_keeps(kind: DataType) -> bool:
    """Whether Spark negates numbers of this type exactly: it rounds DECIMALs to 34 digits."""
    return not isinstance(kind, DecimalType) or kind.precision <= 34


def spark_negated(text: str, kind: DataType) -> str | None:
    """A DECIMAL with its sign turned round in Spark's SQL, exactly; None: the difference to zero has fewer digits."""
    if not isinstance(kind, DecimalType) or addition_type(kind, kind).scale < kind.scale:
        return None
    name = f"DECIMAL({kind.precision}, {kind.scale})"
    return f"CAST(CAST(0 AS {name}) - {text} AS {name})"


def fit(value: Decimal, precision: int, scale: int, rounding: str = decimal.ROUND_HALF_UP) -> Decimal | None:
    """The value rounded to ``scale`` digits after the point; None if it then has more than ``precision`` digits."""
    if not value.is_finite() or value.adjusted() >= MOST + 1:
        return None
    rounded = value.quantize(last_place(scale), rounding, EXACT)
    return None if rounded and rounded.adjusted() >= precision - scale else rounded


def addition_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _limited(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def multiplication_type(left: DecimalType, right: DecimalType) -> DecimalType:
    return _limited(left.precision + right.precision + 1, left.scale + right.scale)


def division_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(_KEPT_SCALE, left.scale + right.precision + 1)
    return _limited(left.precision - left.scale + right.scale + scale, scale)


def remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _limited(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def rounding_type(given: DecimalType, digits: int) -> DecimalType:
    """Of ROUND and TRUNCATE to so many digits after the point."""
    if digits >= given.scale:
        return DecimalType(given.precision, given.scale, nullable=False)
    whole = 1 + given.precision - given.scale
    digits = max(digits, 0)
    return DecimalType(min(MOST, whole + digits), digits, nullable=whole + digits > MOST)


def _limited(precision: int, scale: int) -> DecimalType:
    """Nullable if there are too few digits before the point for some values."""
    if precision <= MOST:
        return DecimalType(precision, scale, nullable=False)
    whole = precision - scale
    kept = max(MOST - whole, min(scale, _KEPT_SCALE))
    return DecimalType(MOST, kept, nullable=whole > MOST - kept)
