"""Maps, rows and objects. Objects of a class are rows here; the name of the class is ignored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.arrays import ARRAY, as_column, comparable, element_of
from millrace.relational.functions.casting import SignatureError, common_type
from millrace.relational.functions.registry import (
    Column,
    Kind,
    Signature,
    Surroundings,
    by_row,
    same_type,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

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
