"""CAST from and to VARIANT.

A value is given only if the type holds it as it is: nothing is rounded or cut, a number is not read from text, an INT
not from a number with a fraction. JSON's null is NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from millrace.relational import decimals
from millrace.relational import types as t
from millrace.relational.casting import is_number, is_text
from millrace.relational.functions.json.text import read_json, write_json, writer
from millrace.relational.parsing import CastError
from millrace.relational.printing import double_text
from millrace.relational.types import DataType

Convert = Callable[[Any], Any]

_WRITTEN = (t.BooleanType, t.IntegralType, t.DecimalType, t.ArrayType, t.MapType, t.RowType)


def from_variant(target: DataType) -> Convert | None:
    """The function from the JSON text of a VARIANT; None if there is no such CAST."""
    read = _reader(target)
    return read and (lambda text: read(read_json(text)))


def to_variant(source: DataType) -> Convert | None:
    """The function from a value to the JSON text of a VARIANT."""
    if isinstance(source, (t.FloatType, t.DoubleType)):
        return _of_float
    if isinstance(source, t.DecimalType):
        return lambda value: f"{value.normalize():f}"
    return writer(source) if is_text(source) or isinstance(source, _WRITTEN) else None


def _of_float(value: float) -> str:
    if not math.isfinite(value):
        raise CastError(f"a VARIANT cannot hold {value}")
    return double_text(value)


def _reader(target: DataType) -> Convert | None:
    read = _present(target)
    return read and (lambda value: None if value is None else read(value))


def _present(target: DataType) -> Convert | None:
    """Of what JSON text says, null excepted."""
    if is_text(target):
        return lambda value: _text(value, target)
    if isinstance(target, t.BooleanType):
        return lambda value: value if isinstance(value, bool) else _fail(value, target)
    if is_number(target):
        return lambda value: _number(value, target)
    if isinstance(target, t.ArrayType):
        element = _reader(target.element_type)
        return element and (
            lambda value: list(map(element, value)) if isinstance(value, list) else _fail(value, target)
        )
    if isinstance(target, t.MapType) and is_text(target.key_type):
        item = _reader(target.value_type)
        return item and (
            lambda value: (
                [(key, item(each)) for key, each in value.items()] if isinstance(value, dict) else _fail(value, target)
            )
        )
    if isinstance(target, t.RowType):
        return _row(target)
    return (lambda value: write_json(value)) if isinstance(target, t.VariantType) else None


def _row(target: t.RowType) -> Convert | None:
    readers = [_reader(each) for each in target.field_types()]
    known = [read for read in readers if read is not None]
    if len(known) < len(readers):
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return _fail(value, target)
        return {name: read(value.get(name)) for name, read in zip(target.names, known)}

    return convert


def _fail(value: Any, target: DataType) -> Any:
    raise CastError(f"the VARIANT {write_json(value)[:100]} is not a value of {target.sql()}")


def _text(value: Any, target: DataType) -> str:
    text = value if isinstance(value, str) else write_json(value)
    length: int = target.length  # type: ignore[attr-defined]
    fits = len(text) == length if isinstance(target, t.CharType) else len(text) <= length
    return text if fits else str(_fail(value, target))


def _number(value: Any, target: DataType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return _fail(value, target)
    if isinstance(target, t.IntegralType):
        half = 1 << target.bits - 1
        return value if isinstance(value, int) and -half <= value < half else _fail(value, target)
    if isinstance(target, t.DecimalType):
        exact = Decimal(value)
        fitted = decimals.fit(exact, target.precision, target.scale)
        return fitted if fitted == exact else _fail(value, target)
    with np.errstate(over="ignore"):
        found = float(np.float32(float(value)) if isinstance(target, t.FloatType) else float(value))
    return found if math.isfinite(found) else _fail(value, target)
