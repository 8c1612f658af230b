"""Columns of values with fields: tuples, lists and dicts of one shape, rows, named tuples, dataclasses, and enums."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa

from millrace.checkpoint.values.classes import (
    DATACLASS,
    ENUM,
    NAMED_TUPLE,
    Classes,
    describe_class,
    kind_of,
    name_of,
    slots_of,
)
from millrace.checkpoint.values.evolution import Change, change_of
from millrace.common.types import Row, RowKind, row_of

__all__ = ["CLASS_FORMS", "PLAIN_FORMS", "encode_class", "encode_record"]

Encode = Callable[[Sequence[Any]], tuple[Any, dict[str, Any]]]
Decode = Callable[[Any, dict[str, Any]], list[Any]]
Described = dict[str, Any]

WIDEST = 256
"""Sequences and dicts with more fields are no records."""
_KIND = "row kind"

_fields_of_row, _values_of_row, _kind_of_row = attrgetter("_fields"), attrgetter("_values"), attrgetter("_row_kind")


def encode_record(values: Sequence[Any], cls: type, encode: Encode) -> tuple[Any, Described] | None:
    """A struct column for tuples, lists, dicts and rows that all have the same fields; None for others."""
    if cls is Row:
        return _encode_rows(values, encode)
    if cls is dict:
        shapes = set(map(tuple, values))
        names = shapes.pop()
        if shapes or not 0 < len(names) <= WIDEST or set(map(type, chain.from_iterable(values))) != {str}:
            return None
        if not _printable(names):
            return None
        columns: Iterable[Sequence[Any]] = [list(map(itemgetter(name), values)) for name in names]
        return _struct(columns, names, encode, {"form": "dict", "names": list(names)})
    widths = set(map(len, values))
    width = widths.pop()
    if widths or not 0 < width <= WIDEST:
        return None
    return _struct(_columns(values, width), _numbered(width), encode, {"form": cls.__name__})


def _encode_rows(values: Sequence[Row], encode: Encode) -> tuple[Any, Described] | None:
    names, contents = values[0]._fields, list(map(_values_of_row, values))
    widths = set(map(len, contents))
    width = widths.pop()
    if widths or not 0 < width <= WIDEST or list(map(_fields_of_row, values)).count(names) != len(values):
        return None
    if names is not None:
        if type(names) is not list or len(names) != width or len(set(names)) != width or _KIND in names:
            return None
        if set(map(type, names)) != {str} or not _printable(names):
            return None
    columns = _columns(contents, width)
    described: Described = {"form": "row", "names": names and list(names)}
    kinds = list(map(_kind_of_row, values))
    named = list(names or _numbered(width))
    if kinds.count(kinds[0]) == len(kinds):
        described["kind"] = kinds[0].name
    else:
        columns.append([kind.name for kind in kinds])
        named.append(_KIND)
    return _struct(columns, named, encode, described)


def _printable(names: Iterable[str]) -> bool:
    """Whether Arrow takes these as names."""
    try:
        return bool("".join(names).encode())  # no surrogates
    except UnicodeEncodeError:
        return False


def _numbered(width: int) -> list[str]:
    return [f"f{place}" for place in range(width)]


def _columns(values: Sequence[Any], width: int) -> list[list[Any]]:
    # Not zip(*values): that makes an iterator per value.
    return [list(map(itemgetter(place), values)) for place in range(width)]


def _struct(
    columns: Iterable[Sequence[Any]], names: Sequence[str], encode: Encode, described: Described
) -> tuple[Any, Described]:
    parts = [encode(column) for column in columns]
    array = pa.StructArray.from_arrays([array for array, _ in parts], names=list(names))
    return array, {**described, "columns": [description for _, description in parts]}


def _parts(array: Any, description: Described, decode: Decode) -> list[list[Any]]:
    return [decode(array.field(place), child) for place, child in enumerate(description["columns"])]


def _decode_tuples(array: Any, description: Described, decode: Decode) -> list[Any]:
    return list(zip(*_parts(array, description, decode)))


def _decode_lists(array: Any, description: Described, decode: Decode) -> list[Any]:
    return list(map(list, zip(*_parts(array, description, decode))))


def _decode_dicts(array: Any, description: Described, decode: Decode) -> list[Any]:
    names = description["names"]
    return [dict(zip(names, values)) for values in zip(*_parts(array, description, decode))]


def _decode_rows(array: Any, description: Described, decode: Decode) -> list[Any]:
    parts = _parts(array, description, decode)
    kinds: Iterable[RowKind]
    kinds = repeat(RowKind[description["kind"]]) if "kind" in description else map(RowKind.__getitem__, parts.pop())
    return list(map(row_of, map(list, zip(*parts)), repeat(description["names"]), kinds))


PLAIN_FORMS: dict[str, Callable[[Any, Described, Decode], list[Any]]] = {
    "tuple": _decode_tuples,
    "list": _decode_lists,
    "dict": _decode_dicts,
    "row": _decode_rows,
}


# -- instances of classes ---------------------------------------------------------------------------------------------


def encode_class(values: Sequence[Any], cls: type, encode: Encode) -> tuple[Any, Described] | None:
    """A column for instances of a named tuple, dataclass or enum; None if they hold more than its fields."""
    name, kind = name_of(cls), kind_of(cls)
    if name is None:
        return None
    if kind == ENUM:
        return _encode_members(values, cls, encode)
    if kind not in (DATACLASS, NAMED_TUPLE):
        return None
    described = describe_class(cls)
    names: list[str] = list(described["fields"])
    if not 0 < len(names) <= WIDEST:
        return None
    columns = _columns(values, len(names)) if kind == NAMED_TUPLE else _attributes(values, cls, names)
    return None if columns is None else _struct(columns, names, encode, {"form": kind, "class": described})


def _attributes(values: Sequence[Any], cls: type, names: list[str]) -> list[list[Any]] | None:
    """The values of each field; None if an instance lacks one, or has other attributes beside them."""
    if cls.__dictoffset__ != 0:
        slots = slots_of(cls)
        if set(map(tuple, map(vars, values))) != {tuple(name for name in names if name not in slots)}:
            return None
    try:
        return [list(map(attrgetter(name), values)) for name in names]
    except AttributeError:  # a slot that was never set
        return None


def _encode_members(values: Sequence[Any], cls: Any, encode: Encode) -> tuple[Any, Described] | None:
    names = list(map(attrgetter("_name_"), values))
    distinct = set(names)
    if not distinct <= cls.__members__.keys():  # combined flags have no name
        return None
    array, _ = encode(names)
    described = {**describe_class(cls), "members": sorted(distinct)}
    return array, {"form": ENUM, "class": described}


def decode_class(array: Any, description: Described, decode: Decode, known: Classes) -> list[Any]:
    """The instances, as their class is now."""
    change = change_of(description["class"], known)
    if description["form"] == ENUM:
        members: Any = change.cls
        return list(map(members.__members__.__getitem__, array.to_pylist()))
    columns = _columns_now(array, description, decode, change)
    if description["form"] == NAMED_TUPLE:
        return list(map(tuple.__new__, repeat(change.cls), zip(*columns)))
    instances: list[Any] = list(map(object.__new__, repeat(change.cls, len(array))))
    for name, column in zip(change.fields, columns):
        # That of the class may refuse: it is frozen. A deque without room runs the loop in C.
        deque(map(object.__setattr__, instances, repeat(name), column), 0)
    return instances


def _columns_now(array: Any, description: Described, decode: Decode, change: Change) -> list[Sequence[Any]]:
    """The values of each field that the class has now."""
    children = dict(zip(change.stored, description["columns"]))
    if change.upgrade is None:
        return [
            decode(array.field(change.stored.index(name)), children[name])
            if name in children
            else [change.default(name) for _ in range(len(array))]
            for name in change.fields
        ]
    stored = zip(*_parts(array, description, decode))
    upgraded = [change.apply(dict(zip(change.stored, values))) for values in stored]
    return [list(map(itemgetter(name), upgraded)) for name in change.fields]


CLASS_FORMS = frozenset({DATACLASS, NAMED_TUPLE, ENUM})
