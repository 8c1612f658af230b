"""MIN, MAX, FIRST_VALUE and LAST_VALUE: one of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.aggregates.parts import (
    Accumulation,
    Entry,
    Extremum,
    Folding,
    Keeping,
    Slot,
    choosing,
    column_of,
    counted,
)
from millrace.relational.functions.aggregates.registry import aggregate
from millrace.relational.functions.aggregates.spark_texts import Texts
from millrace.relational.functions.signatures import ANY, Kind, first, takes
from millrace.relational.rex import AggCall
from millrace.relational.types import DataType
from millrace.util.record import Record

_UNORDERED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.VariantType, t.BitmapType)
COMPARABLE = Kind("COMPARABLE", lambda found: None if isinstance(found, _UNORDERED) else found)


class Choice(Record, Folding):
    """One value is enough, since none is ever taken back. NULLs do not count."""

    arg: pa.DataType
    which: str
    """min, max, first or last"""

    @property
    def slots(self) -> tuple[Slot, ...]:  # type: ignore[override]
        return (choosing(self.arg, self.which),)

    def contributions(self, args: Sequence[pa.Array], signs: pa.Array) -> list[pa.Array]:
        return [counted(args[0], signs)]

    def result(self, slots: Sequence[Sequence[Any]], result_type: pa.DataType) -> pa.Array:
        return column_of(slots[0], result_type)

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        (found,) = slots
        return found if found.type == result_type else super().column_result(slots, result_type)


class FirstKept(Keeping):
    """The earliest of the values that are left."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        return min(entries, key=lambda entry: entry[1][0])[0][0]


class LastKept(Keeping):
    """The latest of the values that are left."""

    in_order = True

    def result(self, entries: Sequence[Entry]) -> Any:
        return max(entries, key=lambda entry: entry[1][-1])[0][0]


def _extremum(name: str, largest: bool) -> None:
    @aggregate(name, takes(COMPARABLE, result=first), spark=name.lower(), ignores_duplicates=True)
    def plan(call: AggCall, retracts: bool) -> Accumulation:
        return Extremum(largest) if retracts else Choice(_type(call.args[0].type), "max" if largest else "min")


def _place(name: str, which: str, kept: type[Keeping], *aliases: str) -> None:
    def text(call: AggCall, texts: Texts) -> str:
        value = texts.args[0]
        if texts.place:
            chosen = "min_by" if which == "first" else "max_by"
            return texts.call(f"{chosen}({value}, CASE WHEN {value} IS NOT NULL THEN {texts.place} END)")
        return texts.call(f"{which}({value}, TRUE)")

    @aggregate(name, takes(ANY, result=first), spark=text, aliases=aliases)
    def plan(call: AggCall, retracts: bool) -> Accumulation:
        return kept() if retracts else Choice(_type(call.args[0].type), which)


def _type(data_type: DataType) -> pa.DataType:
    return arrow_type(data_type)


_extremum("MIN", False)
_extremum("MAX", True)
_place("FIRST_VALUE", "first", FirstKept)
_place("LAST_VALUE", "last", LastKept)
