"""Comparisons, BETWEEN, IN, IS NULL, IS DISTINCT FROM."""

from __future__ import annotations

import datetime as dt
import math
import operator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, STANDARD, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Ref

NAN = math.nan
INT = t.IntType()
_WIDE = [of(t.DecimalType(38, 0), Decimal(1)), of(t.DecimalType(38, 38), Decimal("0.5"))]
_WHOLE = "9" * 32


def _decimals(left: str | None, right: str | None, scales: tuple[int, int] = (2, 6)) -> list[object]:
    """DECIMALs of 38 digits and these scales, whose common type would have more."""
    kinds = [t.DecimalType(38, scale) for scale in scales]
    return [of(kind, None if text is None else Decimal(text)) for kind, text in zip(kinds, (left, right))]


_MAP = t.MapType(t.string(), INT)
_ONE, _OTHER = {"a": 1, "b": 2}, {"b": 2, "a": 1}

EXAMPLES = [
    Example("=", [of(_MAP, _ONE), of(_MAP, _OTHER)], True, SOURCE),
    Example("<>", [of(_MAP, _ONE), of(_MAP, _OTHER)], False, SOURCE),
    Example("=", [of(_MAP, _ONE), of(_MAP, {"b": 2, "a": 3})], False, SOURCE),
    Example("=", [of(_MAP, _ONE), of(_MAP, None)], None, SOURCE),
    Example("=", [of(t.ArrayType(_MAP), [_ONE]), of(t.ArrayType(_MAP), [_OTHER])], True, SOURCE),
    Example("=", _decimals(f"{_WHOLE}.99", f"{_WHOLE}.990000"), True, SOURCE),
    Example("<", _decimals(f"{_WHOLE}.99", f"{_WHOLE}.990001"), True, SOURCE),
    Example("<", _decimals("1" + "0" * 32, f"{_WHOLE}.999999"), False, SOURCE),
    Example("<", _decimals("-1" + "0" * 32, f"-{_WHOLE}.999999"), True, SOURCE),
    Example("<>", _decimals("9" * 36 + ".99", "1"), True, SOURCE),
    Example(">=", _decimals("9" * 36 + ".99", None), None, SOURCE),
    Example(">=", _decimals(None, "1"), None, SOURCE),
    Example(">", _decimals(f"{_WHOLE}.999999", "9" * 36, (6, 2)), False, SOURCE),
    Example("<=", _decimals("1.5", "1.5", (6, 2)), True, SOURCE),
    Example("=", [1, 1], True, DOCS),
    Example("=", [1, of(t.BigIntType(), 1)], True, DOCS),
    Example("=", [1, 1.0], True, DOCS),
    Example("=", [1, Decimal("1.00")], True, DOCS),
    Example("=", ["a", "b"], False, DOCS),
    Example("=", [of(t.CharType(2), "a "), "a"], False, SOURCE),
    Example("=", [NAN, NAN], False, JAVA),
    Example("=", [0.0, -0.0], True, JAVA),
    Example("=", [null(INT), 1], None, DOCS),
    Example("=", [[1, 2], [1, 2]], True, DOCS),
    Example("=", [[1, 2], [2, 1]], False, DOCS),
    Example("=", [b"ab", b"ab"], True, DOCS),
    Example("=", [dt.date(2020, 1, 2), "2020-01-02"], True, SOURCE),
    Example("=", [dt.datetime(2020, 1, 2), dt.date(2020, 1, 2)], True, SOURCE),
    Example("<>", [1, 2], True, DOCS),
    Example("<>", [NAN, NAN], True, JAVA),
    Example("!=", [1, 1], False, DOCS),
    Example("<>", [null(INT), null(INT)], None, DOCS),
    Example("<", [1, 2], True, DOCS),
    Example("<", ["Z", "a"], True, SOURCE),
    Example("<", ["é", "z"], False, SOURCE),
    Example("<", [1.0, NAN], False, JAVA),
    Example("<", _WIDE, False, STANDARD),
    Example("<=", [2, 2], True, DOCS),
    Example("<=", [NAN, NAN], False, JAVA),
    Example("<=", [dt.datetime(2020, 1, 1), "2020-01-01 00:00:00"], True, SOURCE),
    Example(">", [3, 2], True, DOCS),
    Example(">", [NAN, 1.0], False, JAVA),
    Example(">", [True, False], True, STANDARD),
    Example(">", _WIDE, True, STANDARD),
    Example(">=", [b"\xff", b"\x01"], True, SOURCE),
    Example(">=", [1, 2], False, DOCS),
    Example(">=", [Decimal("1.5"), 1], True, DOCS),
    Example("IS NULL", [1], False, DOCS, strict=False),
    Example("IS NULL", [null(INT)], True, DOCS, strict=False),
    Example("IS NULL", [NAN], False, DOCS, strict=False),
    Example("IS NOT NULL", [1], True, DOCS, strict=False),
    Example("IS NOT NULL", [null(t.string())], False, DOCS, strict=False),
    Example("IS NOT NULL", [[1]], True, DOCS, strict=False),
    Example("IS DISTINCT FROM", [1, null(INT)], True, DOCS, strict=False),
    Example("IS DISTINCT FROM", [null(INT), null(INT)], False, DOCS, strict=False),
    Example("IS DISTINCT FROM", [1, 1], False, DOCS, strict=False),
    Example("IS DISTINCT FROM", [1, 2], True, DOCS, strict=False),
    Example("IS NOT DISTINCT FROM", [1, null(INT)], False, DOCS, strict=False),
    Example("IS NOT DISTINCT FROM", [null(INT), null(INT)], True, DOCS, strict=False),
    Example("IS NOT DISTINCT FROM", ["a", "a"], True, DOCS, strict=False),
    Example("BETWEEN", [12, 15, 12], False, DOCS, strict=False),
    Example("BETWEEN", [12, 15, 12], True, DOCS, {"symmetric": True}, strict=False),
    Example("BETWEEN", [12, 10, null(INT)], None, DOCS, strict=False),
    Example("BETWEEN", [12, null(INT), 10], False, DOCS, strict=False),
    Example("BETWEEN", [12, null(INT), 12], None, DOCS, {"symmetric": True}, strict=False),
    Example("BETWEEN", [1.5, 1, 2], True, DOCS, strict=False),
    Example("IN", [4, 1, 2, 3], False, DOCS, strict=False),
    Example("IN", [1, 1, 2, null(INT)], True, DOCS, strict=False),
    Example("IN", [4, 1, 2, null(INT)], None, DOCS, strict=False),
    Example("IN", [null(INT), 1, 2], None, DOCS, strict=False),
    Example("IN", ["b", "a", "b"], True, DOCS, strict=False),
    Example("IN", [NAN, NAN], False, JAVA, strict=False),
    Example("IN", [Decimal("1.0"), 1], True, DOCS, strict=False),
    Example("IN", [dt.date(2020, 1, 2), "2020-01-02", "2020-01-03"], True, SOURCE, strict=False),
    Example("IN", [1, "1", "2"], True, SOURCE, strict=False),
    Example(">", [of(t.BigIntType(), 5), "3"], True, SOURCE),
    Example("=", [True, "true"], True, SOURCE),
    Example("<", ["1.5", Decimal("1.50")], False, SOURCE),
]


@corpus("example", EXAMPLES, 78)
def test_example(example: Example) -> None:
    example.check()


@pytest.mark.parametrize("pair", [(t.IntType(), t.DateType()), (t.BooleanType(), t.IntType())], ids=str)
def test_incomparable_types_are_refused(pair: tuple[t.DataType, t.DataType]) -> None:
    with pytest.raises(SignatureError, match="comparable types: CAST one to the type of the other"):
        call("=", [Ref(pair[0], 0), Ref(pair[1], 1)])


def test_arrays_have_no_order() -> None:
    array = t.ArrayType(t.IntType())
    with pytest.raises(SignatureError, match="values that have an order"):
        call("<", [Ref(array, 0), Ref(array, 1)])


_PYTHON = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = st.one_of(
    st.none(),
    st.integers(-(2**31), 2**31 - 1),
    st.decimals(-1000, 1000, places=3, allow_nan=False),
    st.integers(-(2**31), 2**31 - 1).map(float),
    st.just(NAN),
)


@given(st.sampled_from(sorted(_PYTHON)), _NUMBERS, _NUMBERS)
def test_numbers_compare_as_in_python(sign: str, left: Any, right: Any) -> None:
    """All kinds of numbers with one another, as doubles if one is; NULL gives NULL."""
    wanted = None
    if left is not None and right is not None:
        both = [float(each) if isinstance(left, float) or isinstance(right, float) else each for each in (left, right)]
        wanted = _PYTHON[sign](*both)
    values = [null(INT) if each is None else each for each in (left, right)]
    Example(sign, values, wanted, strict=True).check()


@given(st.sampled_from(["<", "=", ">="]), st.text(max_size=3), st.text(max_size=3))
def test_text_compares_by_its_bytes(sign: str, left: str, right: str) -> None:
    Example(sign, [left, right], _PYTHON[sign](left.encode(), right.encode())).check()
