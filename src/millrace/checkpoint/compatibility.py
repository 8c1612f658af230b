"""Declared types: how a savepoint records them, and whether a later program may declare another one.

State isn't converted to its declared type, so types only tell what the user means. What is really stored is in the
description of a column (see ``compare_stored`` in ``checkpoint.compare``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from millrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from millrace.common.types import Row, row_of
from millrace.runtime.failure import shorten

__all__ = ["adapter", "compare_types", "describe_type"]


SAME, EVOLVES, INCOMPATIBLE = "same", "evolves", "incompatible"
"""the words that the results of ``compare_types`` begin with"""

Described = dict[str, Any]
Convert = Callable[[Any], Any]

_PICKLED = "PICKLED"
_TIMES = {DateTypeInfo: "DATE", TimeTypeInfo: "TIME", TimestampTypeInfo: "TIMESTAMP"}
_LOCAL_TIMES = {"LOCAL_DATE": "DATE", "LOCAL_TIME": "TIME", "LOCAL_DATE_TIME": "TIMESTAMP"}
_WHOLE = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
"""integer types; each type can hold all values of those before it"""
_NUMBERS: dict[str, Convert] = {"DOUBLE": float, "BIG_DEC": Decimal}
"""types that integers may be converted to"""
_CLASSES: dict[str, Any] = {
    **dict.fromkeys((*_WHOLE, "BIG_DEC"), (int, Decimal)),
    **dict.fromkeys(("FLOAT", "DOUBLE"), (int, float)),
    **dict.fromkeys(("STRING", "CHAR"), str),
    "BOOLEAN": bool,
}
"""type -> Python classes of its values"""
_WIDER = {
    **{name: frozenset(_WHOLE[place + 1 :]) | {"DOUBLE", "BIG_DEC"} for place, name in enumerate(_WHOLE)},
    "FLOAT": frozenset({"DOUBLE"}),
    "CHAR": frozenset({"STRING"}),
}


# -- describing -------------------------------------------------------------------------------------------------------


def describe_type(type_info: TypeInformation) -> Described:
    """A type as plain JSON."""
    if isinstance(type_info, ExternalTypeInfo):
        return describe_type(type_info._type_info)
    if isinstance(type_info, BasicTypeInfo):
        return {"type": type_info._basic_type.name}
    if isinstance(type_info, LocalTimeTypeInfo):
        return {"type": _LOCAL_TIMES[type_info._time_type.name]}
    if isinstance(type_info, RowTypeInfo):
        row: Described = {"type": "ROW", "fields": [describe_type(field) for field in type_info._field_types]}
        return row if type_info._field_names is None else {**row, "names": list(type_info._field_names)}
    if isinstance(type_info, TupleTypeInfo):
        return {"type": "TUPLE", "fields": [describe_type(field) for field in type_info._field_types]}
    if isinstance(type_info, ListTypeInfo):
        return {"type": "LIST", "element": describe_type(type_info.elem_type)}
    if isinstance(type_info, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)):
        element = describe_type(type_info._element_type)
        is_bytes = isinstance(type_info, PrimitiveArrayTypeInfo) and element["type"] == "BYTE"
        return {"type": "BYTES"} if is_bytes else {"type": "LIST", "element": element}
    if isinstance(type_info, MapTypeInfo):
        return {
            "type": "MAP",
            "key": describe_type(type_info._key_type_info),
            "value": describe_type(type_info._value_type_info),
        }
    # Any other type does not restrict its values.
    return {"type": _TIMES.get(type(type_info), _PICKLED)}


def type_text(described: Described) -> str:
    """A type as error messages name it."""
    kind = described["type"]
    if kind == "ROW":
        fields = zip(_names(described), described["fields"])
        return f"ROW<{', '.join(f'{name} {type_text(field)}' for name, field in fields)}>"
    if kind == "TUPLE":
        return f"TUPLE<{', '.join(map(type_text, described['fields']))}>"
    if kind == "LIST":
        return f"LIST<{type_text(described['element'])}>"
    if kind == "MAP":
        return f"MAP<{type_text(described['key'])}, {type_text(described['value'])}>"
    return str(kind)


def _names(row: Described) -> list[str]:
    return row.get("names") or [f"f{place}" for place in range(len(row["fields"]))]


# -- comparing --------------------------------------------------------------------------------------------------------


def compare_types(old: Described, new: Described) -> str:
    """Whether state of type ``old`` can be used as ``new``: ``same``, ``evolves: ...`` or ``incompatible: ...``.

    Pickled state may hold anything, so between it and another type only the stored columns decide
    (``compare.compare_stored``); here that counts as evolving.
    """
    differences = list(_differences(old, new, ""))
    for verdict in (INCOMPATIBLE, EVOLVES):
        found = [what for how, what in differences if how == verdict]
        if found:
            return f"{verdict}: {'; '.join(found)}"
    return SAME


def _differences(old: Described, new: Described, path: str) -> Iterator[tuple[str, str]]:
    """(EVOLVES or INCOMPATIBLE, text) for a type and all types inside it; ``path`` is its place in the whole."""
    before, now, at = old["type"], new["type"], f"{path}: " if path else ""
    if before == now:
        yield from _inner_differences(old, new, path)
    elif now in _WIDER.get(before, ()):
        yield EVOLVES, f"{at}{before} becomes {now}"
    elif _PICKLED in (before, now):
        yield EVOLVES, f"{at}{type_text(old)} becomes {type_text(new)}, if the stored values are such"
    else:
        yield INCOMPATIBLE, f"{at}{type_text(old)} can't become {type_text(new)}"


def _inner_differences(old: Described, new: Described, path: str) -> Iterator[tuple[str, str]]:
    kind = old["type"]
    if kind == "ROW":
        yield from _row_differences(old, new, path)
    elif kind == "TUPLE":
        before, now = old["fields"], new["fields"]
        if len(before) != len(now):
            at = f"{path}: " if path else ""
            yield INCOMPATIBLE, f"{at}a tuple of {len(before)} can't become one of {len(now)}; use a Row with names"
            return
        for place, pair in enumerate(zip(before, now)):
            yield from _differences(*pair, _below(path, f"f{place}"))
    elif kind == "LIST":
        yield from _differences(old["element"], new["element"], _below(path, "element"))
    elif kind == "MAP":
        yield from _differences(old["key"], new["key"], _below(path, "key"))
        yield from _differences(old["value"], new["value"], _below(path, "value"))


def _row_differences(old: Described, new: Described, path: str) -> Iterator[tuple[str, str]]:
    at, before, now = f"{path}: " if path else "", _names(old), _names(new)
    if ("names" in old) != ("names" in new):
        if len(before) != len(now):
            yield INCOMPATIBLE, f"{at}fields without names can't be told apart: {type_text(old)}, {type_text(new)}"
            return
        yield EVOLVES, f"{at}fields {'get' if 'names' in new else 'lose'} their names"
        before = now
    types = dict(zip(before, old["fields"]))
    added, removed = [name for name in now if name not in types], [name for name in before if name not in now]
    if added:
        yield EVOLVES, f"{at}new fields {', '.join(added)} are None"
    if removed:
        yield EVOLVES, f"{at}fields {', '.join(removed)} are dropped"
    if not added and not removed and before != now:
        yield EVOLVES, f"{at}another order of fields"
    for name, field in zip(now, new["fields"]):
        if name in types:
            yield from _differences(types[name], field, _below(path, name))


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# -- adapting values --------------------------------------------------------------------------------------------------


def adapter(old: Described, new: Described) -> Convert | None:
    """A function that converts values of type ``old`` to the type ``new`` that they may evolve to: rows get its fields,
    integers become floats or decimals. None if no conversion is needed."""
    before, now = old["type"], new["type"]
    if before in _WHOLE and now in _NUMBERS:
        number = _NUMBERS[now]
        return lambda value: number(value) if value.__class__ is int else value
    if now == "ROW" and before in ("ROW", _PICKLED):
        return None if old == new else _row_adapter(old, new)
    if before == _PICKLED and now in _CLASSES:
        return partial(_checked, now)
    if before != now:
        return None
    if now == "TUPLE":
        parts = [adapter(*pair) for pair in zip(old["fields"], new["fields"])]
        return _tuple_adapter(parts) if any(parts) else None
    if now == "LIST":
        element = adapter(old["element"], new["element"])
        return None if element is None else lambda value: _each(element, value)
    if now == "MAP":
        key, item = adapter(old["key"], new["key"]), adapter(old["value"], new["value"])
        if key or item:
            return lambda value: _items(key, item, value)
    return None


def _checked(declared: str, value: Any) -> Any:
    """Checks a value of a type that allowed anything against the present type."""
    if not isinstance(value, _CLASSES[declared]):
        raise TypeError(
            f"a stored value is {shorten(value)}, and not {declared}: declare the state as it was, give it another "
            f"name, or convert the savepoint (millrace.state)"
        )
    return value


def _each(convert: Convert, value: Any) -> Any:
    return [_apply(convert, each) for each in value] if value.__class__ is list else value


def _items(key: Convert | None, item: Convert | None, value: Any) -> Any:
    return {_apply(key, k): _apply(item, v) for k, v in value.items()} if value.__class__ is dict else value


def _tuple_adapter(parts: list[Convert | None]) -> Convert:
    def adapt(value: Any) -> Any:
        if value.__class__ is not tuple or len(value) != len(parts):
            return value
        return tuple(_apply(part, each) for part, each in zip(parts, value))

    return adapt


def _row_adapter(old: Described, new: Described) -> Convert:
    names = _names(new)
    before = _names(old) if old["type"] == "ROW" else names
    if ("names" in old) != ("names" in new) and len(before) == len(names):
        before = names
    types = dict(zip(before, old.get("fields", ())))
    parts = {name: adapter(types[name], field) for name, field in zip(names, new["fields"]) if name in types}
    gets_names = "names" in new and "names" not in old

    def adapt(value: Any) -> Any:
        if value.__class__ is dict and "names" in new:  # records of Avro and their like
            return {name: _apply(parts.get(name), value.get(name)) for name in names}
        if value.__class__ is not Row:
            return value
        stored = value._fields
        found = dict(zip(before if stored is None else stored, value._values))
        fields = [_apply(parts.get(name), found.get(name)) for name in names]
        if stored is None:
            return row_of(fields, names if gets_names else None, value._row_kind)
        return row_of(fields, names, value._row_kind) if "names" in new else value

    return adapt


def _apply(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
