"""IS_ALPHA, IS_DECIMAL, IS_DIGIT: what a text looks like. NULL looks like nothing: FALSE."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, STRING, Kind, takes
from millrace.relational.rex import Call
from millrace.relational.types import DataType

_NUMBER = re.compile(r"\s*[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)\s*")


def _target(found: DataType) -> DataType | None:
    if isinstance(found, t.NullType):
        return STRING
    return found if is_text(found) or isinstance(found, t.NumericType) else None


_VALUE = Kind("STRING or NUMERIC", _target)


def _register(name: str, test: Callable[[str], bool], numbers: Callable[[DataType], bool]) -> None:
    @scalar(name, takes(_VALUE, result=BOOLEAN_TYPE, nullable=False))
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        """A number is known by its type."""
        given = call.args[0].type
        if is_text(given):
            return by_row(call, args, lambda text: text is not None and bool(text) and test(text), nulls=True)
        fits = numbers(given)
        return by_row(call, args, lambda value: value is not None and fits, nulls=True)


def _is_letter(char: str) -> bool:
    return unicodedata.category(char).startswith("L")


def _is_digit(char: str) -> bool:
    return unicodedata.category(char) == "Nd"


_register("IS_ALPHA", lambda text: all(map(_is_letter, text)), lambda given: False)
_register("IS_DIGIT", lambda text: all(map(_is_digit, text)), lambda given: isinstance(given, t.IntegralType))
_register("IS_DECIMAL", lambda text: _NUMBER.fullmatch(text) is not None, lambda given: True)
