"""Functions of text: length, case, parts, joining, positions, and tests (IS_ALPHA, IS_DECIMAL, IS_DIGIT). Characters
are Unicode code points, positions count from 1."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BOOLEAN_TYPE,
    INT_TYPE,
    STRING,
    TEXT,
    WHOLE,
    Column,
    Kind,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    common_type,
    first,
    is_bytes,
    is_null_constant,
    is_text,
    null,
    scalar,
    shortened,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

_LARGEST = 2**31 - 1


def _joined_length(types: Sequence[DataType]) -> DataType:
    """The type of ``a || b``: its length is the sum of both lengths."""
    total = min(t.MAX_LENGTH, sum(each.length for each in types))  # type: ignore[attr-defined]
    if all(isinstance(each, t.CharType) for each in types):
        return t.CharType(total)
    return t.VarCharType(total) if is_text(types[0]) else t.VarBinaryType(total)


def _infer_joined(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    types = [STRING if isinstance(arg.type, t.NullType) else arg.type for arg in args]
    same_family = all(map(is_text, types)) or all(map(is_bytes, types))
    if len(args) < 2 or not same_family:
        raise SignatureError("it takes (STRING, STRING) or (BYTES, BYTES): CAST other values to STRING")
    return signature([each.with_nullable(arg.type.is_nullable) for each, arg in zip(types, args)], _joined_length)


@scalar("||", _infer_joined, spark="concat({args})")
def _joined(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _concatenated(call, args)


def _concatenated(call: Call, args: Sequence[Column]) -> Column:
    if any(map(is_null_constant, args)):
        return null(call)
    empty = pa.scalar(b"" if is_bytes(call.type) else "", arrow_type(call.type))
    return pc.binary_join_element_wise(*args, empty)


@scalar("CONCAT", takes(TEXT, variadic=True, result=STRING), spark="concat({args})")
def _concat(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _concatenated(call, args)


@scalar("CONCAT_WS", takes(TEXT, TEXT, variadic=True, result=STRING, nullable=True), spark="concat_ws({args})")
def _concat_ws(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    # Arrow's kernel gives too few rows for columns of nothing but NULL.
    return by_row(call, args, _joined_known, nulls=True)


def _joined_known(separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _spark_length(call: Call, args: Sequence[str]) -> str:
    return f"char_length({args[0]})"


@scalar("CHAR_LENGTH", takes(TEXT, result=INT_TYPE), spark=_spark_length, aliases=("CHARACTER_LENGTH",))
def _char_length(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.utf8_length(args[0])


def _register_text(
    name: str,
    kernel: Callable[[str], str],
    ascii_kernel: Callable[[Column], Column] | None = None,
    spark: str | None = None,
) -> None:
    """A function of one text. Arrow's kernels know only simple rules beyond ASCII: there Python does the work."""

    @scalar(name, takes(TEXT, result=first), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        if ascii_kernel is not None and _is_ascii(args[0]):
            return ascii_kernel(args[0])
        return by_row(call, args, kernel)


def _is_ascii(column: Column) -> bool:
    if isinstance(column, pa.Scalar):
        return bool(column.is_valid and column.as_py().isascii())
    return bool(pc.all(pc.string_is_ascii(column)).as_py())


_WORD = re.compile("[A-Za-z0-9]+")


def capitalized(text: str) -> str:
    """Each run of ASCII letters and digits with its first letter in upper case, the others in lower case."""
    return _WORD.sub(lambda word: word[0].capitalize(), text)


_register_text("UPPER", str.upper, pc.ascii_upper, "upper({0})")
_register_text("LOWER", str.lower, pc.ascii_lower, "lower({0})")
_register_text("INITCAP", capitalized)


@scalar("REVERSE", takes(TEXT, result=STRING, nullable=True), spark="reverse({0})")
def _reverse(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return pc.utf8_reverse(args[0])


@scalar("REPEAT", takes(TEXT, WHOLE, result=STRING), spark="repeat({0}, CAST({1} AS INT))")
def _repeat(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, times: text * times)


def _spark_replace(call: Call, args: Sequence[str]) -> str | None:
    """Spark finds no empty text."""
    old = call.args[1]
    return f"replace({', '.join(args)})" if isinstance(old, Literal) and old.value else None


@scalar("REPLACE", takes(TEXT, TEXT, TEXT, result=STRING), spark=_spark_replace)
def _replace(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, str.replace)


# -- parts ------------------------------------------------------------------------------------------------------------


def substring(text: str, start: int, length: int = _LARGEST) -> str | None:
    """From position ``start`` on, from the end if it is negative. NULL for a negative length."""
    if length < 0 or length > _LARGEST or start > _LARGEST:
        return None
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[first : first + length] if first >= 0 else ""


def _spark_substring(call: Call, args: Sequence[str]) -> str | None:
    """Spark counts a start before the text, and a negative length, differently: only for constants that are neither."""
    from millrace.relational.functions.registry import constant_number

    numbers = [constant_number(arg) for arg in call.args[1:]]
    if any(number is None or not 0 <= number <= _LARGEST for number in numbers):
        return None
    return f"substring({', '.join(args)})"


@scalar(
    "SUBSTRING",
    takes(TEXT, WHOLE, WHOLE, optional=1, result=shortened, nullable=True),
    spark=_spark_substring,
    aliases=("SUBSTR",),
    syntax="SUBSTRING(string FROM integer [FOR integer])",
)
def _substring(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    text, *numbers = args
    plain = [number.as_py() for number in numbers if isinstance(number, pa.Scalar) and number.is_valid]
    if len(plain) == len(numbers) and all(0 <= number < _LARGEST for number in plain):
        start = max(0, plain[0] - 1)
        return pc.utf8_slice_codeunits(text, start, start + plain[1] if len(plain) == 2 else None)
    return by_row(call, args, substring)


@scalar("LEFT", takes(TEXT, WHOLE, result=shortened, nullable=True), spark="left({0}, CAST({1} AS INT))")
def _left(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, count: text[: max(0, count)])


@scalar("RIGHT", takes(TEXT, WHOLE, result=shortened, nullable=True), spark="right({0}, CAST({1} AS INT))")
def _right(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, count: text[-count:] if count > 0 else "")


def _of_both(types: Sequence[DataType]) -> DataType:
    """A VARCHAR whose length is the sum of the lengths of the first two arguments."""
    return t.VarCharType(min(t.MAX_LENGTH, sum(each.length for each in types[:2])))  # type: ignore[attr-defined]


@scalar(
    "OVERLAY",
    takes(TEXT, TEXT, WHOLE, WHOLE, optional=1, result=_of_both),
    syntax="OVERLAY(string PLACING string FROM integer [FOR integer])",
)
def _overlay(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, overlay)


def overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    """Unchanged for a start outside of the text. A length that is not positive cuts off the rest, as in Flink."""
    if not 1 <= start <= len(text):
        return text
    length = len(new) if length is None else length
    rest = text[start - 1 + length :] if length > 0 else ""
    return text[: start - 1] + new + rest


@scalar("SPLIT_INDEX", takes(TEXT, TEXT, WHOLE, result=STRING, nullable=True))
def _split_index(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    text, separator, index = args
    constant = isinstance(separator, pa.Scalar) and isinstance(index, pa.Scalar) and not isinstance(text, pa.Scalar)
    if constant and separator.as_py() and index.is_valid and 0 <= index.as_py() < _MANY_PARTS:
        return _part(text, separator.as_py(), index.as_py())
    return by_row(call, args, split_index)


def _part(texts: pa.Array, separator: str, index: int) -> pa.Array:
    """The part number ``index`` (from 0) of each text, split at ``separator``; NULL for empty texts and where there
    is no such part."""
    texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)
    parts = pc.split_pattern(texts, separator, max_splits=index + 1)
    there = pc.greater(pc.list_value_length(parts), index)
    return parts.values.take(pc.if_else(there, pc.add(parts.offsets[:-1], index), None))


@scalar("SPLIT_INDEX CODE", takes(TEXT, WHOLE, WHOLE, result=STRING, nullable=True), overload_of="SPLIT_INDEX")
def _split_index_code(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """SPLIT_INDEX with the character code of the separator."""
    return by_row(
        call, args, lambda text, code, index: split_index(text, chr(code), index) if 1 <= code <= 255 else None
    )


_MANY_PARTS = 1 << 20
"""the number of a part that texts do not have; a place beyond that of Arrow's offsets would not be one"""


def split_index(text: str, separator: str, index: int) -> str | None:
    """The part with this number, from 0; an empty separator stands for white space."""
    if index < 0 or not text:
        return None
    parts = text.split(separator) if separator else _split_at_blanks(text)
    return parts[index] if index < len(parts) else None


def _split_at_blanks(text: str) -> list[str]:
    return "".join("\0" if char.isspace() else char for char in text).split("\0")


@scalar("ELT", lambda args, options: _infer_elt(args))
def _elt(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL for an index without value."""

    def choose(index: int | None, *values: Any) -> Any:
        return values[index - 1] if index is not None and 1 <= index <= len(values) else None

    return by_row(call, args, choose, nulls=True)


def _infer_elt(args: Sequence[Rex]) -> Signature:
    values = [arg.type for arg in args[1:]]
    common = common_type(values) if values else None
    index = args[0].type if args else None
    if common is None or not isinstance(index, t.IntegralType) or not (is_text(common) or is_bytes(common)):
        raise SignatureError("it takes (INTEGER, STRING, ...) or (INTEGER, BYTES, ...)")
    cast = [common.with_nullable(each.is_nullable) for each in values]
    return signature([index, *cast], common, nullable=True)


# Positions in a text


def _find(text: str, sought: str, start: int = 1) -> int:
    """The position of a text in another one, from 1; 0 if it does not occur."""
    return text.find(sought, max(0, start - 1)) + 1 if sought else 1


@scalar(
    "POSITION",
    takes(TEXT, TEXT, WHOLE, optional=1, result=INT_TYPE),
    spark=lambda call, args: f"locate({args[0]}, {args[1]})" if len(args) == 2 else None,
    aliases=("LOCATE",),
    syntax="POSITION(sought IN string) or LOCATE(sought, string [, start])",
)
def _position(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    sought, text, *start = args
    return by_row(call, [text, sought, *start], _find)


@scalar(
    "INSTR",
    takes(TEXT, TEXT, WHOLE, WHOLE, optional=2, result=INT_TYPE),
    spark=lambda call, args: f"instr({args[0]}, {args[1]})" if len(args) == 2 else None,
    syntax="INSTR(string, sought [, start [, nth]])",
)
def _instr(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, instr)


def instr(text: str, sought: str, start: int = 1, nth: int = 1) -> int:
    """The position of the n-th occurrence, from the end for a negative start.

    :raises ValueError: ``nth`` is not positive.
    """
    if nth <= 0:
        raise ValueError(f"INSTR counts occurrences from 1, not {nth}")
    if start == 0:
        return 0
    if start < 0:
        found = instr(text[::-1], sought[::-1], -start, nth)
        return len(text) + 2 - found - len(sought) if found else 0
    return reduce(lambda place, _: _find(text, sought, place + 1) if place >= 0 else 0, range(nth), start - 1)


def _infer_ends(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    types = [STRING if isinstance(arg.type, t.NullType) else arg.type for arg in args]
    if len(args) != 2 or not (all(map(is_text, types)) or all(map(is_bytes, types))):
        raise SignatureError("it takes (STRING, STRING) or (BYTES, BYTES)")
    return signature([each.with_nullable(arg.type.is_nullable) for each, arg in zip(types, args)], BOOLEAN_TYPE)


@scalar("STARTSWITH", _infer_ends, spark="startswith({0}, {1})")
def _starts_with(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, start: text.startswith(start))


@scalar("ENDSWITH", _infer_ends, spark="endswith({0}, {1})")
def _ends_with(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda text, end: text.endswith(end))


def _infer_translate(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """NULL only for a text that is."""
    found = takes(TEXT, TEXT, TEXT, result=STRING)(args, options)
    return Signature(found.args, STRING.with_nullable(args[0].type.is_nullable))


@scalar("TRANSLATE", _infer_translate, aliases=("TRANSLATE3",))
def _translate(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, translate, nulls=True)


def translate(text: str | None, old: str | None, new: str | None) -> str | None:
    """Characters of ``old`` become those of ``new`` at the same place, without one they go. The first place counts.
    NULL is no characters."""
    if text is None or not old:
        return text
    new = new or ""
    table: dict[int, str] = {}
    for place, char in enumerate(old):
        table.setdefault(ord(char), new[place : place + 1])
    return text.translate(table)


# IS_ALPHA, IS_DECIMAL, IS_DIGIT

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
