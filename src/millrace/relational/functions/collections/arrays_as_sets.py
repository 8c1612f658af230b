"""Arrays as sets, joined and sorted: ARRAY_DISTINCT, ARRAY_UNION, ARRAY_SORT, ARRAY_MAX and their like."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.collections.arrays import ARRAY, comparable, element_of
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Infer, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN, Kind, first, same_type, takes
from millrace.relational.rex import Call, Rex

_UNORDERED = (t.RowType, t.MapType, t.MultisetType, t.ArrayType, t.RawType, t.VariantType, t.BitmapType)
_ORDERED = Kind(
    "ARRAY of values with an order",
    lambda found: found if isinstance(found, t.ArrayType) and not isinstance(found.element_type, _UNORDERED) else None,
)


def _arrays(least: int, most: int | None) -> Infer:
    """Arrays with a common type."""
    same = same_type(least=least, most=most)

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Any:
        if not all(isinstance(arg.type, (t.ArrayType, t.NullType)) for arg in args) or not any(
            isinstance(arg.type, t.ArrayType) for arg in args
        ):
            raise SignatureError(f"it takes ({', '.join(['ARRAY'] * least)}{'' if most else ', ...'})")
        return same(args, options)

    return infer


def _unique(values: Iterable[Any]) -> dict[Any, Any]:
    """The first of equal values, in order, by what compares."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(comparable(value), value)
    return found


@scalar("ARRAY_DISTINCT", takes(ARRAY, result=first))
def array_distinct(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda held: list(_unique(held).values()))


@scalar("ARRAY_CONCAT", _arrays(1, None), spark="concat({args})")
def array_concat(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda *arrays: [value for held in arrays for value in held])


@scalar("ARRAY_UNION", _arrays(2, 2))
def array_union(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda one, other: list(_unique([*one, *other]).values()))


@scalar("ARRAY_EXCEPT", _arrays(2, 2))
def array_except(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _chosen(call, args, lambda known: not known)


@scalar("ARRAY_INTERSECT", _arrays(2, 2))
def array_intersect(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _chosen(call, args, lambda known: known)


def _chosen(call: Call, args: Sequence[Column], wanted: Callable[[bool], bool]) -> Column:
    """Different elements of the first array, chosen by whether the second one has them."""

    def choose(one: list[Any], other: list[Any]) -> list[Any]:
        known = set(map(comparable, other))
        return [value for key, value in _unique(one).items() if wanted(key in known)]

    return by_row(call, args, choose)


@scalar("ARRAY_MAX", takes(_ORDERED, result=lambda types: element_of(types[0]), nullable=True))
def array_max(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda held: max(_present(held), key=_rank, default=None))


@scalar("ARRAY_MIN", takes(_ORDERED, result=lambda types: element_of(types[0]), nullable=True))
def array_min(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda held: min(_present(held), key=_rank, default=None))


@scalar("ARRAY_SORT", takes(_ORDERED, BOOLEAN, BOOLEAN, result=first, optional=2))
def array_sort(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _sorted)


def _sorted(held: list[Any], ascending: bool = True, nulls_first: bool | None = None) -> list[Any]:
    """NULLs come first in ascending order and last in descending order, unless it is said where."""
    found = sorted(_present(held), key=_rank, reverse=not ascending)
    nulls = [None] * (len(held) - len(found))
    return nulls + found if (ascending if nulls_first is None else nulls_first) else found + nulls


def _present(held: list[Any]) -> list[Any]:
    return [value for value in held if value is not None]


def _rank(value: Any) -> Any:
    """What values are ordered by: NaN is greater than all numbers, as in Java."""
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)
