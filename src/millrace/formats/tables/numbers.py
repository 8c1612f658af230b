"""Numbers as text in messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.decimals import EXACT
from millrace.relational.parsing import parser
from millrace.relational.printing import double_text, float_text
from millrace.relational.types import DataType

_WHOLE = re.compile(r"[+-]?[0-9]+")
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
"""where Java writes floating numbers without an exponent"""


def parse_whole(text: str, bits: int) -> int:
    """An integer of so many bits; blanks around are ignored."""
    if _WHOLE.fullmatch(text.strip()) is None:
        raise ValueError(f"not an integer: {text!r}")
    return in_range(int(text), bits)


def in_range(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit into {bits} bits")
    return value


def number_parser(data_type: DataType) -> Any:
    """From text to FLOAT, DOUBLE, DECIMAL; digits after the point that are too many are rounded, a DECIMAL with too
    many before it is NULL."""
    read = parser(data_type, "UTC")
    assert read is not None
    return read


def float_texts(column: pa.Array) -> pa.Array:
    """FLOAT and DOUBLE as Java writes them."""
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, _PLAIN_FROM), pc.less(size, _PLAIN_BELOW)), pc.equal(size, 0.0))
    texts = column.cast(pa.string())
    texts = pc.if_else(pc.match_substring(texts, "."), texts, pc.binary_join_element_wise(texts, ".0", ""))
    java = float_text if column.type == pa.float32() else double_text
    return patched(texts, pc.invert(plain), column, java)


def decimal_texts(column: pa.Array, exponents: bool) -> pa.Array:
    """DECIMAL without zeros at its end.

    :param exponents: write 100 as ``1E+2`` and 0.00000001 as ``1E-8``, as Java does unless told otherwise.
    """
    texts = column.cast(pa.string())
    odd = pc.match_substring(texts, "E")
    if column.type.scale > 0:
        texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
    if exponents:
        odd = pc.or_(odd, pc.and_(pc.ends_with(texts, "0"), pc.not_equal(texts, "0")))
    return patched(texts, odd, column, decimal_text(exponents))


def decimal_text(exponents: bool) -> Callable[[Decimal], str]:
    """The same of a single value."""
    if exponents:
        return lambda value: str(value.normalize(EXACT))
    return lambda value: format(value.normalize(EXACT), "f")


def patched(texts: pa.Array, mask: pa.Array, column: pa.Array, text: Any) -> pa.Array:
    """The texts with those of marked rows computed value by value."""
    mask = mask.fill_null(False)
    if not pc.any(mask).as_py():
        return texts
    return pc.replace_with_mask(
        texts, mask, pa.array([text(value) for value in column.filter(mask).to_pylist()], texts.type)
    )
