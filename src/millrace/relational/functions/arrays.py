"""Arrays, maps, rows and objects: making them, reading them, looking for elements, and arrays as sets, joined and
sorted. Positions count from 1. Objects of a class are rows here; the name of the class is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BOOLEAN,
    BOOLEAN_TYPE,
    INT,
    INT_TYPE,
    STRING,
    TEXT,
    Column,
    Infer,
    Kind,
    Result,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    common_type,
    first,
    is_bytes,
    is_text,
    same_type,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

# Arrays

ARRAY = Kind("ARRAY", lambda found: found if isinstance(found, t.ArrayType) else None)
TEXTS = Kind(
    "ARRAY<STRING>",
    lambda found: found if isinstance(found, t.ArrayType) and is_text(found.element_type) else None,
)


def element_of(array: DataType) -> DataType:
    assert isinstance(array, t.ArrayType)
    return array.element_type


def comparable(value: Any) -> Any:
    """A value with == and a hash, equal for equal values: of rows, maps and arrays too."""
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return frozenset((comparable(key), comparable(item)) for key, item in value)
        return tuple(map(comparable, value))
    if isinstance(value, dict):
        return tuple(map(comparable, value.values()))
    return value


# -- ARRAY[...], CARDINALITY, ITEM, ELEMENT ---------------------------------------------------------------------------


@scalar(
    "ARRAY",
    same_type(result=lambda types: t.ArrayType(_common(types)), nullable=False),
    spark="array({args})",
    syntax="ARRAY[value, ...]",
)
def array(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if all(isinstance(arg, pa.Scalar) for arg in args):
        return by_row(call, args, lambda *values: list(values), nulls=True)
    columns = [as_column(arg, around.length) for arg in args]
    width, size = len(args), around.length
    in_rows = np.arange(width * size).reshape(width, size).T.ravel()
    values = pa.concat_arrays(columns).take(pa.array(in_rows))
    offsets = pa.array(np.arange(0, width * size + 1, width), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, type=arrow_type(call.type))


def as_column(arg: Column, length: int) -> pa.Array:
    """An argument as an array."""
    if isinstance(arg, pa.Scalar):
        return pa.repeat(arg, length) if arg.is_valid else pa.nulls(length, arg.type)
    return arg.combine_chunks() if isinstance(arg, pa.ChunkedArray) else arg


def _common(types: Sequence[DataType]) -> DataType:
    found = common_type(types)
    assert found is not None
    return found


def _spark_size(call: Call, args: Sequence[str]) -> str | None:
    held = call.args[0].type
    if isinstance(held, t.MultisetType):
        return None
    return f"array_size({args[0]})" if isinstance(held, t.ArrayType) else f"array_size(map_keys({args[0]}))"


_COUNTED = (t.ArrayType, t.MapType, t.MultisetType)


@scalar(
    "CARDINALITY",
    takes(
        Kind("ARRAY or MAP", lambda found: found if isinstance(found, _COUNTED) else None),
        result=INT_TYPE,
    ),
    spark=_spark_size,
)
def cardinality(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if isinstance(args[0], pa.Scalar) or isinstance(call.args[0].type, t.MultisetType):
        multiset = isinstance(call.args[0].type, t.MultisetType)
        return by_row(call, args, lambda held: sum(count for _, count in held) if multiset else len(held))
    return _lengths(args[0])


def _lengths(column: Any) -> Any:
    if pa.types.is_list(column.type):
        return pc.list_value_length(column)
    counts = np.diff(column.offsets.to_numpy())
    return pa.array(counts, pa.int32(), mask=column.is_null().to_numpy(zero_copy_only=False))


def _infer_element(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    held = args[0].type if len(args) == 1 else None
    if isinstance(held, (t.ArrayType, t.MultisetType)):
        return signature([held], held.element_type, True)
    raise SignatureError("it takes (ARRAY)")


@scalar("ELEMENT", _infer_element)
def element(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def only(held: list[Any]) -> Any:
        if isinstance(call.args[0].type, t.MultisetType):
            held = [value for value, count in held for _ in range(count)]
        if len(held) > 1:
            raise ValueError(f"ELEMENT takes an array of one element, not of {len(held)}")
        return held[0] if held else None

    return by_row(call, args, only)


def _infer_item(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) == 2:
        held, key = args[0].type, args[1].type
        if isinstance(held, t.ArrayType) and isinstance(key, t.IntegralType):
            if isinstance(args[1], Literal) and args[1].value is not None and args[1].value < 1:
                raise SignatureError(f"positions in an array count from 1, there is no {args[1].value}")
            return signature([held, key], held.element_type, True)
        if isinstance(held, t.MapType):
            common = common_type([held.key_type, key])
            if common is not None and (common.is_same(held.key_type) or is_text(common)):
                wanted = key if is_text(common) and is_text(key) else held.key_type
                return signature([held, wanted.with_nullable(key.is_nullable)], held.value_type, True)
    raise SignatureError("it takes (ARRAY, INTEGER) or (MAP, key)")


def _spark_item(call: Call, args: Sequence[str]) -> str | None:
    held, key = (arg.type for arg in call.args)
    if isinstance(held, t.MapType):
        return f"{args[0]}[{args[1]}]" if is_text(key) or isinstance(key, t.IntegralType) else None
    return None if isinstance(key, t.BigIntType) else f"get({args[0]}, {args[1]} - 1)"


@scalar("ITEM", _infer_item, spark=_spark_item, aliases=("AT",), syntax="array[position], map[key] or row[field]")
def item(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL where there is no such element."""
    held, key = args
    if isinstance(call.args[0].type, t.MapType):
        return by_row(call, args, lambda pairs, key: dict_of(pairs).get(comparable(key)))
    if isinstance(held, pa.Scalar):
        return by_row(call, args, lambda values, at: values[at - 1] if 1 <= at <= len(values) else None)
    offsets = held.offsets.to_numpy().astype(np.int64)
    start, length = offsets[:-1], np.diff(offsets)
    at = key.cast(pa.int64())
    plain = np.asarray(at.as_py() or 0 if isinstance(at, pa.Scalar) else at.fill_null(0).to_numpy(), np.int64)
    inside = (plain >= 1) & (plain <= length) & held.is_valid().to_numpy(zero_copy_only=False)
    return held.values.take(pa.array(start + plain - 1, pa.int64(), mask=~inside))


def dict_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """The entries of a map by comparable keys."""
    return {comparable(key): value for key, value in pairs}


# -- one array and one element ----------------------------------------------------------------------------------------


def _with_element(result: Result, strict: bool = False) -> Infer:
    """(array, element to look for): what does not compare with the elements is refused.

    :param strict: NULL as the element gives NULL, and is not looked for.
    """

    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        if len(args) != 2 or not isinstance(args[0].type, t.ArrayType):
            raise SignatureError("it takes (ARRAY, element)")
        held, needle = element_of(args[0].type), args[1].type
        common = common_type([held, needle])
        kinds = (is_text, is_bytes)
        if common is None or not (common.is_same(held) or any(kind(held) and kind(needle) for kind in kinds)):
            raise SignatureError(f"it takes (ARRAY, element): an element of {args[0].type.sql()}")
        wanted = needle if any(kind(needle) for kind in kinds) else held.with_nullable(needle.is_nullable)
        nullable = args[0].type.is_nullable or (strict and needle.is_nullable)
        return signature([args[0].type, wanted], result, nullable)

    return infer


def _adding(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) != 2 or not isinstance(args[0].type, t.ArrayType):
        raise SignatureError("it takes (ARRAY, element)")
    held = args[0].type
    common = common_type([held.element_type, args[1].type])
    if common is None:
        raise SignatureError(f"it takes (ARRAY, element): an element of {held.sql()}")
    wanted = t.ArrayType(common)
    return signature(
        [wanted.with_nullable(held.is_nullable), common.with_nullable(args[1].type.is_nullable)],
        wanted,
        held.is_nullable,
    )


def _of_array(call: Call, args: Sequence[Column], function: Callable[..., Any]) -> Column:
    """NULL for no array, but the other arguments may be NULL."""
    return by_row(call, args, lambda held, *rest: None if held is None else function(held, *rest), nulls=True)


@scalar("ARRAY_APPEND", _adding)
def array_append(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _of_array(call, args, lambda held, value: [*held, value])


@scalar("ARRAY_PREPEND", _adding)
def array_prepend(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _of_array(call, args, lambda held, value: [value, *held])


@scalar("ARRAY_CONTAINS", _with_element(BOOLEAN_TYPE))
def array_contains(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _of_array(call, args, lambda held, value: comparable(value) in map(comparable, held))


@scalar("ARRAY_POSITION", _with_element(INT_TYPE, strict=True))
def array_position(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def position(held: list[Any], value: Any) -> int:
        wanted = comparable(value)
        return next((index for index, each in enumerate(held, 1) if comparable(each) == wanted), 0)

    return by_row(call, args, position)


@scalar("ARRAY_REMOVE", _with_element(first))
def array_remove(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    def without(held: list[Any], value: Any) -> list[Any]:
        wanted = comparable(value)
        return [each for each in held if comparable(each) != wanted]

    return _of_array(call, args, without)


# -- parts and order --------------------------------------------------------------------------------------------------


@scalar("ARRAY_REVERSE", takes(ARRAY, result=first), spark="reverse({0})")
def array_reverse(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda held: held[::-1])


@scalar("ARRAY_SLICE", takes(ARRAY, INT, INT, result=first, optional=1))
def array_slice(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _slice)


def _slice(held: list[Any], start: int, end: int | None = None) -> list[Any]:
    """From ``start`` to ``end``, both included; negative ones count from the end, 0 is the first."""
    size = len(held)
    begin, last = (place + size + 1 if place < 0 else place for place in (start, size if end is None else end))
    return held[max(begin, 1) - 1 : max(last or 1, 0)]


@scalar("ARRAY_JOIN", takes(TEXTS, TEXT, TEXT, result=STRING, optional=1), spark="array_join({args})")
def array_join(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _join)


def _join(held: list[str | None], delimiter: str, for_null: str | None = None) -> str:
    whole = held if for_null is None else [for_null if each is None else each for each in held]
    return delimiter.join([each for each in whole if each is not None])


@scalar("SPLIT", takes(TEXT, TEXT, result=t.ArrayType(STRING)))
def split(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _split)


def _split(text: str, delimiter: str) -> list[str]:
    """An empty text has no parts."""
    return text.split(delimiter) if text and delimiter else list(text)


# Arrays as sets, joined and sorted

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


# Maps

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


# Rows


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    """``names`` among the options names the fields; otherwise they are EXPR$0, EXPR$1, ... as in Flink SQL."""
    names = options.get("names") or [f"EXPR${index}" for index in range(len(args))]
    if len(names) != len(args):
        raise SignatureError(f"it takes {len(names)} values for the fields {', '.join(names)}, not {len(args)}")
    types = tuple(arg.type for arg in args)
    return Signature(types, t.RowType([t.RowField(name, each) for name, each in zip(names, types)], False))


def _spark(call: Call, args: Sequence[str]) -> str:
    assert isinstance(call.type, t.RowType)
    names = [name.replace("\\", "\\\\").replace("'", "\\'") for name in call.type.names]
    fields = ", ".join(f"'{name}', {arg}" for name, arg in zip(names, args))
    return f"named_struct({fields})"


@scalar("ROW", _infer, spark=_spark, syntax="ROW(value, ...)")
def row(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return rows_of(call.type, args, around.length)


def rows_of(data_type: t.DataType, fields: Sequence[Column], length: int) -> Column:
    """Columns as the fields of one column of rows."""
    wanted = arrow_type(data_type)
    if all(isinstance(field, pa.Scalar) for field in fields):
        return pa.scalar({part.name: field.as_py() for part, field in zip(wanted, fields)}, wanted)
    return pa.StructArray.from_arrays([as_column(field, length) for field in fields], fields=list(wanted))


# Objects


def _names(args: Sequence[Rex], function: str) -> list[str]:
    """The names before each value.

    :raises SignatureError: one is not constant text, or comes twice.
    """
    names = [arg.value if isinstance(arg, Literal) else None for arg in args[1::2]]
    if len(args) % 2 == 0 or not all(isinstance(name, str) for name in names):
        raise SignatureError(f"it takes {function}: names are constant text")
    if len(set(names)) < len(names):
        raise SignatureError(f"it takes each field once, not {', '.join(map(str, names))}")
    return [str(name) for name in names]


def _infer_of(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    names = _names(args, "(class name [, field, value, ...])")
    if not isinstance(args[0], Literal) or not isinstance(args[0].value, str):
        raise SignatureError("it takes (class name [, field, value, ...]): the name of the class is constant text")
    fields = [t.RowField(name, arg.type) for name, arg in zip(names, args[2::2])]
    return Signature(tuple(arg.type for arg in args), t.RowType(fields, False))


@scalar("OBJECT_OF", _infer_of, syntax="OBJECT_OF(class name [, field, value, ...])")
def object_of(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return rows_of(call.type, args[2::2], around.length)


def _infer_update(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    held = args[0].type if args else None
    if not isinstance(held, t.RowType) or len(args) < 3:
        raise SignatureError("it takes (ROW, field, value, ...)")
    values = dict(zip(_names(args, "(ROW, field, value, ...)"), args[2::2]))
    missing = [name for name in values if name not in held.names]
    if missing:
        raise SignatureError(
            f"it takes names of fields of the row, which has {', '.join(held.names)}, not {missing[0]}"
        )
    fields = [
        t.RowField(field.name, values[field.name].type if field.name in values else field.data_type)
        for field in held.fields
    ]
    return Signature(tuple(arg.type for arg in args), t.RowType(fields, held.is_nullable))


@scalar("OBJECT_UPDATE", _infer_update, syntax="OBJECT_UPDATE(object, field, value, ...)")
def object_update(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL stays NULL."""
    held, wanted = args[0], arrow_type(call.type)
    names = [name.as_py() if isinstance(name, pa.Scalar) else name[0].as_py() for name in args[1::2]]
    values = dict(zip(names, args[2::2]))
    if isinstance(held, pa.Scalar) and not held.is_valid:
        return pa.scalar(None, wanted)
    parts = [values.get(part.name, pc.struct_field(held, index)) for index, part in enumerate(wanted)]
    found = rows_of(call.type, parts, around.length)
    if isinstance(held, pa.Scalar) or not held.null_count:
        return found
    return pc.if_else(held.is_valid(), found, pa.scalar(None, wanted))
