"""Precision and scale: result types of DECIMAL arithmetic by Flink's rules, DECIMAL values fitted into a type, and
columns cut to the precision of their declared type, so that equal values have one form."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType, DecimalType

# DECIMAL

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
    """The smallest positive number with ``scale`` digits after the point."""
    return Decimal((0, (1,), -scale))


def decimals_of_texts(texts: pa.Array, kind: DecimalType) -> pa.Array:
    """DECIMALs of texts of numbers.

    :raises pa.ArrowInvalid: a text is no number, or one that the type does not hold exactly.
    """
    # Of what does not fit into 128 bits, scaled as the type is, Arrow's cast makes some other number.
    digits = max(kind.precision - kind.scale, 1)
    plain = pc.match_substring_regex(texts, rf"^[+-]?(?:0*[0-9]{{1,{digits}}}(?:\.[0-9]*)?|\.[0-9]+)$")
    short = pc.less_equal(pc.utf8_length(texts), MOST)
    if pc.all(pc.and_(plain, short)).as_py() is not False:
        return texts.cast(pa.decimal128(kind.precision, kind.scale))
    values = [None if text is None else _exactly(text, kind) for text in texts.to_pylist()]
    return pa.array(values, pa.decimal128(kind.precision, kind.scale))


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def _exactly(text: str, kind: DecimalType) -> Decimal:
    value = EXACT.create_decimal(text) if _NUMBER.fullmatch(text) else Decimal("NaN")
    found = fit(value, kind.precision, kind.scale)
    if found is None or found != value:
        raise pa.ArrowInvalid(f"{text!r} is no {kind}")
    return found


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
    """The result type of ROUND and TRUNCATE to ``digits`` digits after the point."""
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


# Columns of any type

_MICROS = 6
"""digits of a second in Arrow columns"""
Change = Callable[[pa.Array], pa.Array]


def canonical(column: pa.Array | pa.ChunkedArray, data_type: DataType) -> pa.Array:
    """A column in the Arrow form of its type, without what the type does not have: digits of a second, other
    patterns of bits of NaN."""
    change = _change(data_type)
    if change is None:
        return column
    return change(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def cut_digits(column: pa.Array, precision: int) -> pa.Array:
    """Cut times to ``precision`` digits of a second, towards the past as Java does."""
    if precision >= _MICROS:
        return column
    numbers = column.view(pa.int64())
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    rest = values % 10 ** (_MICROS - precision)
    if not rest.any():
        return column
    return pa.array(values - rest, mask=pc.is_null(numbers).to_numpy(zero_copy_only=False)).view(column.type)


def _change(data_type: DataType) -> Change | None:
    """The function that normalises columns of a type; None: all values of the Arrow type are values of the type."""
    make = _CHANGES.get(family_of(data_type))
    found: Change | None = None if make is None else make(data_type)
    return found


def _times(data_type: Any) -> Change | None:
    precision: int = data_type.precision
    return None if precision >= _MICROS else lambda column: cut_digits(column, precision)


def _floats(data_type: DataType) -> Change:
    def change(column: pa.Array) -> pa.Array:
        strange = pc.is_nan(column)
        return pc.if_else(strange, pa.scalar(float("nan"), column.type), column) if pc.any(strange).as_py() else column

    return change


def _arrays(data_type: DataType) -> Change | None:
    each = _change(*parts_of(data_type))
    if each is None:
        return None

    def change(column: pa.Array) -> pa.Array:
        values = each(column.values)
        if values is column.values:
            return column
        return _with_nulls(pa.ListArray.from_arrays(column.offsets, values, type=column.type), column)

    return change


def _maps(data_type: DataType) -> Change | None:
    key, item = (_change(part) for part in parts_of(data_type))
    if key is None and item is None:
        return None

    def change(column: pa.Array) -> pa.Array:
        keys = column.keys if key is None else key(column.keys)
        items = column.items if item is None else item(column.items)
        return _with_nulls(pa.MapArray.from_arrays(column.offsets, keys, items, type=column.type), column)

    return change


def _rows(data_type: DataType) -> Change | None:
    parts = [_change(part) for part in parts_of(data_type)]
    if not any(parts):
        return None

    def change(column: pa.Array) -> pa.Array:
        fields = [column.field(place) for place in range(column.type.num_fields)]
        made = [field if part is None else part(field) for part, field in zip(parts, fields)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(made, fields=list(column.type), mask=mask)

    return change


def _with_nulls(made: pa.Array, column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), made, pa.scalar(None, made.type)) if column.null_count else made


_CHANGES: ByFamily = {
    **dict.fromkeys((Family.TIME, Family.TIMESTAMP, Family.INSTANT), _times),
    Family.APPROXIMATE: _floats,
    Family.ARRAY: _arrays,
    Family.MAP: _maps,
    Family.ROW: _rows,
    Family.USER: lambda kind: _change(*parts_of(kind)),
}
