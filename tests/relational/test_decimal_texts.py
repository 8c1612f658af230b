"""Columns of texts as DECIMAL: Arrow's own cast makes other numbers of what does not fit into 128 bits."""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational import types as t
from millrace.relational.precision import decimals_of_texts

KINDS = [t.DecimalType(*each) for each in ((38, 18), (20, 2), (38, 0), (38, 37), (3, 3), (4, 1))]
DIGITS = st.text(st.sampled_from("0123456789"), max_size=45)
NUMBERS = st.tuples(st.sampled_from(["", "+", "-"]), DIGITS, st.sampled_from(["", "."]), DIGITS, st.integers(-40, 40))
WIDE = Context(prec=200)


@given(NUMBERS, st.booleans(), st.sampled_from(KINDS))
def test_a_number_is_exact_or_refused(drawn: tuple[str, str, str, str, int], plain: bool, kind: t.DecimalType) -> None:
    sign, whole, point, fraction, exponent = drawn
    text = f"{sign}{whole}{point}{fraction}" + ("" if plain else f"e{exponent}")
    try:
        value = WIDE.create_decimal(text) if whole or fraction else None
    except ArithmeticError:
        value = None
    fits = value is not None and abs(value) < 10 ** (kind.precision - kind.scale) and not _rest(value, kind.scale)
    column = pa.array([text, None, "0"], pa.string())
    if fits:
        assert decimals_of_texts(column, kind).to_pylist() == [value, None, Decimal(0)]
    else:
        with pytest.raises(pa.ArrowInvalid):
            decimals_of_texts(column, kind)


def _rest(value: Decimal, scale: int) -> bool:
    scaled = value.scaleb(scale, WIDE)
    return scaled != scaled.to_integral_value(context=WIDE)


@pytest.mark.parametrize(
    "text", ["1e30", "8191620510174941098831818.0", "3.4028235e38", "NaN", "Infinity", "x", "1_0", " 1", ""]
)
def test_what_is_no_number_of_the_type_is_refused(text: str) -> None:
    with pytest.raises(pa.ArrowInvalid):
        decimals_of_texts(pa.array([text]), t.DecimalType(38, 18))
