"""Maps: making them, joining them, their keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import common_type
from millrace.relational.functions.collections.arrays import ARRAY, comparable, element_of
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import Kind, same_type, signature, takes
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType

MAP = Kind("MAP", lambda found: found if isinstance(found, t.MapType) else None)


def _map(found: DataType) -> t.MapType:
    assert isinstance(found, t.MapType)
    return found


def entries(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The entries of a map: the last value of each key.

    :raises ValueError: a key is NULL.
    """
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        if key is None:
            raise ValueError("a key of a MAP cannot be NULL")
        found[comparable(key)] = (key, value)
    return list(found.values())


def _infer_map(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if not args or len(args) % 2:
        raise SignatureError("it takes (key, value, ...), keys and values in turn")
    key, value = (common_type([arg.type for arg in args[place::2]]) for place in (0, 1))
    if key is None or value is None:
        raise SignatureError("it takes keys with a common type, and values with a common type: CAST them to one")
    wanted = [(value if place % 2 else key).with_nullable(arg.type.is_nullable) for place, arg in enumerate(args)]
    return signature(wanted, t.MapType(key, value), False)


@scalar("MAP", _infer_map, syntax="MAP[key, value, ...]")
def make_map(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda *values: entries(zip(values[::2], values[1::2])), nulls=True)


@scalar(
    "MAP_FROM_ARRAYS",
    takes(ARRAY, ARRAY, result=lambda types: t.MapType(element_of(types[0]), element_of(types[1]))),
)
def map_from_arrays(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def pair(keys: list[Any], values: list[Any]) -> list[tuple[Any, Any]]:
        if len(keys) != len(values):
            raise ValueError(f"MAP_FROM_ARRAYS takes as many keys as values, not {len(keys)} and {len(values)}")
        return entries(zip(keys, values))

    return by_row(call, args, pair)


def _infer_union(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if not args or not all(isinstance(arg.type, (t.MapType, t.NullType)) for arg in args):
        raise SignatureError("it takes (MAP, ...)")
    return same_type()(args, options)


@scalar("MAP_UNION", _infer_union)
def map_union(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """Later maps win."""
    return by_row(call, args, lambda *maps: entries(pair for pairs in maps for pair in pairs))


@scalar("MAP_KEYS", takes(MAP, result=lambda types: t.ArrayType(_map(types[0]).key_type)), spark="map_keys({0})")
def map_keys(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda pairs: [key for key, _ in pairs])


@scalar("MAP_VALUES", takes(MAP, result=lambda types: t.ArrayType(_map(types[0]).value_type)), spark="map_values({0})")
def map_values(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda pairs: [value for _, value in pairs])


def _entry_rows(types: Sequence[DataType]) -> DataType:
    held = _map(types[0])
    return t.ArrayType(t.RowType([t.RowField("key", held.key_type), t.RowField("value", held.value_type)]))


@scalar("MAP_ENTRIES", takes(MAP, result=_entry_rows), spark="map_entries({0})")
def map_entries(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda pairs: [{"key": key, "value": value} for key, value in pairs])
