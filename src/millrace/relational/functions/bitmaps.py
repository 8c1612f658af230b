"""Bitmaps: sets of 32 bit numbers in the portable form of Roaring bitmaps. Numbers below 0 count as the unsigned ones
with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.bitmap_values import bitmap_class, bitmap_text, read_bitmap
from millrace.relational.functions.registry import (
    BIGINT_TYPE,
    BYTES,
    BYTES_TYPE,
    INT_TYPE,
    STRING,
    Column,
    Kind,
    Surroundings,
    by_row,
    scalar,
    takes,
)
from millrace.relational.rex import Call

_BITMAP = t.BitmapType()
BITMAP = Kind("BITMAP", lambda found: _BITMAP if isinstance(found, (t.BitmapType, t.NullType)) else None)
_INTS = Kind(
    "ARRAY<INT>",
    lambda found: (
        t.ArrayType(INT_TYPE)
        if isinstance(found, t.ArrayType) and isinstance(found.element_type, (t.TinyIntType, t.SmallIntType, t.IntType))
        else None
    ),
)


def written(bitmap: Any) -> bytes:
    """A bitmap in its portable form, as small as it gets."""
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


@scalar("BITMAP_BUILD", takes(_INTS, result=_BITMAP))
def bitmap_build(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    new = bitmap_class()
    return by_row(call, args, lambda held: written(new([n & 0xFFFFFFFF for n in held if n is not None])))


def _combination(name: str, combine: Callable[[Any, Any], Any]) -> None:
    @scalar(name, takes(BITMAP, BITMAP, result=_BITMAP))
    def compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return by_row(call, args, lambda one, other: written(combine(read_bitmap(one), read_bitmap(other))))


_combination("BITMAP_AND", lambda one, other: one & other)
_combination("BITMAP_ANDNOT", lambda one, other: one - other)
_combination("BITMAP_OR", lambda one, other: one | other)
_combination("BITMAP_XOR", lambda one, other: one ^ other)


@scalar("BITMAP_CARDINALITY", takes(BITMAP, result=BIGINT_TYPE))
def bitmap_cardinality(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda data: len(read_bitmap(data)))


@scalar("BITMAP_FROM_BYTES", takes(BYTES, result=_BITMAP))
def bitmap_from_bytes(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def check(data: bytes) -> bytes:
        try:
            return written(read_bitmap(data))
        except (ValueError, IndexError) as error:
            raise ValueError(f"BITMAP_FROM_BYTES: {len(data)} bytes that are no Roaring bitmap") from error

    bitmap_class()
    return by_row(call, args, check)


@scalar("BITMAP_TO_BYTES", takes(BITMAP, result=BYTES_TYPE))
def bitmap_to_bytes(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return args[0]


@scalar("BITMAP_TO_ARRAY", takes(BITMAP, result=t.ArrayType(INT_TYPE)))
def bitmap_to_array(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def numbers(data: bytes) -> list[int]:
        held = read_bitmap(data)
        if len(held) > t.MAX_LENGTH:
            raise ValueError(f"BITMAP_TO_ARRAY: {len(held):,} numbers, an ARRAY has {t.MAX_LENGTH:,} at most")
        return [n - 2**32 if n >= 2**31 else n for n in held]

    return by_row(call, args, numbers)


@scalar("BITMAP_TO_STRING", takes(BITMAP, result=STRING))
def bitmap_to_string(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, bitmap_text)
