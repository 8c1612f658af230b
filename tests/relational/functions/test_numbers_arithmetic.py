"""``+ - * / %`` on numbers."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, JAVA, SOURCE, Example, null, of

from millrace.relational import types as t

TINY, SMALL, INT, BIG = t.TinyIntType(), t.SmallIntType(), t.IntType(), t.BigIntType()
FLOAT, DOUBLE = t.FloatType(), t.DoubleType()


def dec(precision: int, scale: int, value: str | None) -> object:
    return of(t.DecimalType(precision, scale), None if value is None else Decimal(value))


EXAMPLES = [
    Example("+", [1, 2], of(INT, 3), DOCS),
    Example("+", [2**31 - 1, 1], of(INT, -(2**31)), JAVA),
    Example("+", [of(TINY, 127), of(TINY, 1)], of(TINY, -128), JAVA),
    Example("+", [of(TINY, 127), of(SMALL, 1)], of(SMALL, 128), JAVA),
    Example("+", [1, of(BIG, 2**40)], of(BIG, 2**40 + 1), JAVA),
    Example("+", [1, 0.5], of(DOUBLE, 1.5), JAVA),
    Example("+", [of(FLOAT, 0.5), of(FLOAT, 0.25)], of(FLOAT, 0.75), JAVA),
    Example("+", [dec(10, 2, "1.25"), dec(5, 1, "3.5")], dec(11, 2, "4.75"), SOURCE),
    Example("+", [dec(10, 2, "1.25"), 1], dec(13, 2, "2.25"), SOURCE),
    Example("+", [dec(38, 0, "9" * 38), dec(38, 0, "1")], dec(38, 0, None), SOURCE),
    Example("+", [dec(38, 10, "0.00000005"), dec(38, 9, "1")], dec(38, 8, "1.00000005"), SOURCE),
    Example("+", [5], of(INT, 5), DOCS),
    Example("-", [5], of(INT, -5), DOCS),
    Example("-", [-(2**31)], of(INT, -(2**31)), JAVA),
    Example("-", [0.0], -0.0, JAVA),
    Example("-", [dec(4, 2, "1.50")], dec(4, 2, "-1.50"), DOCS),
    Example("-", [1, 2], -1, DOCS),
    Example("-", [of(BIG, -(2**63)), of(BIG, 1)], of(BIG, 2**63 - 1), JAVA),
    Example("-", [dec(5, 2, "1.10"), dec(5, 3, "0.105")], dec(7, 3, "0.995"), SOURCE),
    Example("*", [6, 7], 42, DOCS),
    Example("*", [2**30, 4], 0, JAVA),
    Example("*", [dec(5, 2, "1.25"), dec(5, 2, "1.50")], dec(11, 4, "1.8750"), SOURCE),
    Example("*", [dec(20, 10, "2.5"), dec(20, 10, "2.5")], dec(38, 17, "6.25"), SOURCE),
    Example("*", [dec(38, 0, "9" * 38), dec(38, 0, "10")], dec(38, 0, None), SOURCE),
    Example("*", [dec(38, 18, "0." + "4" * 17 + "5"), dec(38, 18, "1.000001")], dec(38, 6, "0.444445"), SOURCE),
    Example("*", [dec(38, 20, "3." + "9" * 20), dec(38, 19, "0.125")], dec(38, 6, "0.500000"), SOURCE),
    Example("*", [dec(31, 4, "1" + "0" * 26 + ".0005"), dec(16, 2, "0.10")], dec(38, 6, f"1{0:025}.000050"), SOURCE),
    Example("*", [1e308, 10.0], math.inf, JAVA),
    Example("/", [7, 2], of(INT, 3), JAVA),
    Example("/", [-7, 2], -3, JAVA),
    Example("/", [7, -2], -3, JAVA),
    Example("/", [-(2**31), -1], -(2**31), JAVA),
    Example("/", [of(BIG, -(2**63)), of(BIG, -1)], -(2**63), JAVA),
    Example("/", [1, 0], source=JAVA, raises="division by zero: "),
    Example("/", [null(INT), 0], None, JAVA),
    Example("/", [1.0, 0.0], math.inf, JAVA),
    Example("/", [1.0, -0.0], -math.inf, JAVA),
    Example("/", [-1.0, 0.0], -math.inf, JAVA),
    Example("/", [0.0, 0.0], math.nan, JAVA),
    Example("/", [7, 2.0], 3.5, JAVA),
    Example("/", [of(FLOAT, 1.0), of(FLOAT, 4.0)], of(FLOAT, 0.25), JAVA),
    Example("/", [of(FLOAT, 1.0), of(FLOAT, 0.0)], of(FLOAT, math.inf), JAVA),
    Example("/", [dec(10, 2, "1.00"), dec(10, 2, "3.00")], dec(23, 13, "0.3333333333333"), SOURCE),
    Example("/", [dec(10, 2, "2.00"), 3], dec(21, 13, "0.6666666666667"), SOURCE),
    Example("/", [dec(15, 4, "9.9999"), dec(15, 4, "0.0007")], dec(35, 20, "14285.57142857142857142857"), SOURCE),
    Example("-", [dec(38, 6, "-" + "9" * 32 + ".999999")], dec(38, 6, "9" * 32 + ".999999"), SOURCE),
    Example("/", [dec(38, 10, "1"), dec(38, 10, "3")], dec(38, 6, "0.333333"), SOURCE),
    Example("/", [dec(3, 1, "1.0"), dec(3, 1, "0.0")], source=JAVA, raises="division by zero: "),
    Example("%", [7, 3], 1, DOCS),
    Example("%", [-7, 3], -1, DOCS),
    Example("MOD", [7, -3], 1, DOCS),
    Example("%", [-(2**31), -1], 0, JAVA),
    Example("%", [of(BIG, 10), of(TINY, 4)], of(TINY, 2), SOURCE),
    Example("%", [of(TINY, 10), of(BIG, 4)], of(BIG, 2), SOURCE),
    Example("%", [1, 0], source=JAVA, raises="division by zero"),
    Example("%", [dec(5, 2, "-5.25"), dec(4, 1, "2.0")], dec(5, 2, "-1.25"), SOURCE),
    Example("%", [dec(19, 0, "-10"), 3], of(t.IntType(), -1), FLINK),
    Example("%", [dec(19, 0, "10"), dec(5, 0, "3")], dec(5, 0, "1"), SOURCE),
    Example("%", [10, dec(5, 0, "3")], dec(5, 0, "1"), SOURCE),
    Example("%", [dec(19, 0, "1"), 0], source=JAVA, raises="division by zero"),
    Example("%", [5.5, 2.0], 1.5, JAVA),
    Example("%", [5.5, 0.0], math.nan, JAVA),
    Example("%", [5.5, math.inf], 5.5, JAVA),
]


@corpus("example", EXAMPLES, 63)
def test_example(example: Example) -> None:
    example.check()


WHOLE = {TINY.bits: TINY, SMALL.bits: SMALL, INT.bits: INT, BIG.bits: BIG}


def wrapped(value: int, bits: int) -> int:
    """Two's complement, by way of its bytes."""
    size = bits // 8
    return int.from_bytes((value % 2**64).to_bytes(8, "little")[:size], "little", signed=True)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int, int]:
    bits = draw(st.sampled_from(sorted(WHOLE)))
    edges = st.sampled_from([-(2 ** (bits - 1)), -1, 0, 1, 2 ** (bits - 1) - 1])
    numbers = st.one_of(edges, st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    return bits, draw(numbers), draw(numbers)


@given(st.sampled_from("+-*/%"), pairs())
def test_whole_numbers_are_those_of_java(sign: str, pair: tuple[int, int, int]) -> None:
    bits, left, right = pair
    args = [of(WHOLE[bits], left), of(WHOLE[bits], right)]
    if sign in "/%" and right == 0:
        Example(sign, args, raises="division by zero").check()
        return
    exact = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: int(Fraction(left, right)),
        "%": lambda: left - right * int(Fraction(left, right)),
    }[sign]()
    Example(sign, args, of(WHOLE[bits], wrapped(exact, bits))).check()


_FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0]))


@given(st.sampled_from("+-*/"), _FLOATS, _FLOATS)
def test_doubles_are_those_of_ieee_754(sign: str, left: float, right: float) -> None:
    with np.errstate(all="ignore"):
        a, b = np.float64(left), np.float64(right)
        wanted = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[sign]
    Example(sign, [left, right], float(wanted)).check()


@st.composite
def decimals(draw: st.DrawFn) -> Any:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    unscaled = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    return of(t.DecimalType(precision, scale), Decimal(unscaled).scaleb(-scale, Context(prec=60)))


@given(st.sampled_from("+-*/"), decimals(), decimals())
def test_decimals_are_exact_and_rounded_half_up(sign: str, left: Any, right: Any) -> None:
    """Against fractions; the type of the result is that of the call."""
    a, b = Fraction(left.value), Fraction(right.value)
    if sign == "/" and b == 0:
        Example(sign, [left, right], raises="division by zero").check()
        return
    exact = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[sign]()
    example = Example(sign, [left, right])
    called = example.call([0, 1])
    assert isinstance(called.type, t.DecimalType)
    unit = 10**called.type.scale
    rounded = math.floor(abs(exact) * unit + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    wanted = rounded if abs(rounded) < 10**called.type.precision else None
    (found,) = example.run(called, [[left.value, right.value]])
    scaled = None if found is None else int(Fraction(found) * unit)
    if sign == "/" and wanted is not None and abs(exact) * unit >= 10**37:
        assert scaled is not None and abs(scaled - wanted) <= 1  # rounded to 38 digits first
    else:
        assert scaled == wanted
