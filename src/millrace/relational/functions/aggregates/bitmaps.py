"""Aggregates of bitmaps: sets of 32 bit numbers, as bytes in the portable form of Roaring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.aggregates.parts import Accumulation, Entry, Keeping
from millrace.relational.functions.aggregates.registry import aggregate
from millrace.relational.functions.collections.bitmaps import bitmap_class
from millrace.relational.functions.registry import Infer
from millrace.relational.functions.signatures import BIGINT_TYPE, INT, Kind, takes
from millrace.relational.rex import AggCall
from millrace.util.record import Record

BITMAP = Kind("BITMAP", lambda found: found if isinstance(found, (t.BitmapType, t.NullType)) else None)
_BITMAP_TYPE = t.BitmapType()

Combine = Callable[[Sequence[Entry]], Any]
"""the bitmap of all entries"""


class Bitmaps(Record, Keeping):
    combine: Combine
    counts: bool
    """the result is how many numbers are in the set"""

    def result(self, entries: Sequence[Entry]) -> Any:
        found = self.combine(entries)
        return len(found) if self.counts else found.serialize()


def _build(entries: Sequence[Entry]) -> Any:
    """A negative number stands for the unsigned one with the same bits."""
    return bitmap_class()([args[0] & 0xFFFFFFFF for args, _ in entries])


def _and(entries: Sequence[Entry]) -> Any:
    return reduce(lambda one, other: one & other, (bitmap_class().deserialize(args[0]) for args, _ in entries))


def _or(entries: Sequence[Entry]) -> Any:
    return reduce(lambda one, other: one | other, (bitmap_class().deserialize(args[0]) for args, _ in entries))


def _xor(entries: Sequence[Entry]) -> Any:
    """A bitmap that comes twice takes itself back."""
    odd = (bitmap_class().deserialize(args[0]) for args, count in entries if count % 2)
    return reduce(lambda one, other: one ^ other, odd, bitmap_class()())


def _register(name: str, kind: Kind, combine: Combine) -> None:
    def add(full_name: str, infer: Infer, counts: bool) -> None:
        @aggregate(full_name, infer)
        def plan(call: AggCall, retracts: bool) -> Accumulation:
            return Bitmaps(combine, counts)

    add(f"BITMAP_{name}_AGG", takes(kind, result=_BITMAP_TYPE), False)
    add(f"BITMAP_{name}_CARDINALITY_AGG", takes(kind, result=BIGINT_TYPE), True)


_register("BUILD", INT, _build)
_register("AND", BITMAP, _and)
_register("OR", BITMAP, _or)
_register("XOR", BITMAP, _xor)
