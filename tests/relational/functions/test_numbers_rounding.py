"""ABS, SIGN, CEIL, FLOOR, ROUND, TRUNCATE."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.registry import call
from millrace.relational.rex import Call, Literal, Ref

TINY, INT, BIG, FLOAT, DOUBLE = t.TinyIntType(), t.IntType(), t.BigIntType(), t.FloatType(), t.DoubleType()


def dec(precision: int, scale: int, value: str | None) -> object:
    return of(t.DecimalType(precision, scale), None if value is None else Decimal(value))


EXAMPLES = [
    Example("ABS", [-5], of(INT, 5), DOCS),
    Example("ABS", [-(2**31)], -(2**31), JAVA),
    Example("ABS", [-1.5], 1.5, DOCS),
    Example("ABS", [dec(5, 2, "-1.25")], dec(5, 2, "1.25"), DOCS),
    Example("ABS", [dec(38, 6, "-" + "9" * 32 + ".999999")], dec(38, 6, "9" * 32 + ".999999"), SOURCE),
    Example("ABS", [dec(38, 6, None)], dec(38, 6, None), SOURCE),
    Example("ABS", [dec(38, 38, "-0." + "1" * 38)], dec(38, 38, "0." + "1" * 38), SOURCE),
    Example("SIGN", [-5], of(INT, -1), SOURCE),
    Example("SIGN", [0.5], of(DOUBLE, 1.0), JAVA),
    Example("SIGN", [-0.0], -0.0, JAVA),
    Example("SIGN", [math.nan], math.nan, JAVA),
    Example("SIGN", [dec(5, 2, "-3.25")], dec(5, 2, "-1.00"), SOURCE),
    Example("CEIL", [1.2], 2.0, DOCS),
    Example("CEILING", [-1.2], -1.0, DOCS),
    Example("CEIL", [-0.5], -0.0, JAVA),
    Example("CEIL", [dec(3, 1, "99.1")], dec(3, 0, "100"), SOURCE),
    Example("CEIL", [3], of(INT, 3), DOCS),
    Example("FLOOR", [1.8], 1.0, DOCS),
    Example("FLOOR", [-1.2], -2.0, DOCS),
    Example("FLOOR", [dec(3, 1, "-1.5")], dec(3, 0, "-2"), SOURCE),
    Example("FLOOR", [of(FLOAT, 2.5)], of(FLOAT, 2.0), DOCS),
    Example("ROUND", [2.5], of(DOUBLE, 3.0), SOURCE),
    Example("ROUND", [-2.5], -3.0, SOURCE),
    Example("ROUND", [1.005, 2], 1.01, SOURCE),
    Example("ROUND", [646.646, 2], 646.65, SOURCE),
    Example("ROUND", [646.646, 5], 646.646, SOURCE),
    Example("ROUND", [1234, -2], of(INT, 1200), SOURCE),
    Example("ROUND", [of(TINY, 127), -1], of(TINY, -126), JAVA),
    Example("ROUND", [math.nan, 1], math.nan, JAVA),
    Example("ROUND", [dec(6, 3, "646.646"), 2], dec(6, 2, "646.65"), SOURCE, constant=(1,)),
    Example("ROUND", [dec(6, 3, "646.646"), 5], dec(6, 3, "646.646"), SOURCE, constant=(1,)),
    Example("ROUND", [dec(6, 3, "646.646"), -2], dec(4, 0, "600"), SOURCE, constant=(1,)),
    Example("ROUND", [dec(3, 1, "99.9")], dec(3, 0, "100"), SOURCE),
    Example("TRUNCATE", [42.324, 2], 42.32, DOCS),
    Example("TRUNCATE", [42.324], 42.0, DOCS),
    Example("TRUNCATE", [-42.987, 1], -42.9, SOURCE),
    Example("TRUNCATE", [1289, -2], of(INT, 1200), DOCS),
    Example("TRUNCATE", [dec(7, 4, "123.4567"), 2], dec(6, 2, "123.45"), SOURCE, constant=(1,)),
    Example("TRUNCATE", [null(INT), 2], None, DOCS),
]


@corpus("example", EXAMPLES, 39)
def test_example(example: Example) -> None:
    example.check()


def test_a_negative_constant_may_be_written_with_a_minus() -> None:
    minus_one = Call(INT.not_null(), "-", (Literal(INT.not_null(), 1),))
    rounded = call("ROUND", [Ref(t.DecimalType(6, 3), 0), minus_one])
    assert rounded.type == t.DecimalType(4, 0)


@given(st.decimals(-(10**6), 10**6, places=4), st.integers(0, 6))
def test_decimals_are_rounded_half_up(value: Decimal, digits: int) -> None:
    wanted = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) if digits < 4 else value
    Example("ROUND", [of(t.DecimalType(11, 4), value), digits], wanted, constant=(1,)).check()
