"""Values of Python as JSON that says what they are, and back: nothing that is read runs code of the file's choice."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from millrace.common.types import Row, RowKind


class RecordingError(Exception):
    """A recording can't be made, read or used; the text says why."""


def encode(value: Any) -> Any:
    """A value as what ``json`` writes: plain values as they are, others as ``{"$tuple": [...]}``.

    :raises RecordingError: a value of another kind.
    """
    if value is None or value.__class__ in (bool, int, str):
        return value
    if value.__class__ is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if value.__class__ is list:
        return [encode(each) for each in value]
    if value.__class__ is dict:
        return _encode_dict(value)
    for name, kind, (write, _) in _KINDS:
        if value.__class__ is kind:
            return {f"${name}": write(value)}
    if isinstance(value, np.generic):
        return {"$numpy": [value.dtype.str, encode(value.item())]}
    names = _field_names(type(value))
    if names is not None:
        path = f"{type(value).__module__}:{type(value).__qualname__}"
        return {"$object": path, "fields": {name: encode(getattr(value, name)) for name in names}}
    raise RecordingError(
        f"a {type(value).__module__}.{type(value).__qualname__} can't be recorded: recordings hold plain values, rows, "
        f"times, named tuples and dataclasses"
    )


def _encode_dict(value: dict[Any, Any]) -> Any:
    if all(key.__class__ is str and not key.startswith("$") for key in value):
        return {key: encode(each) for key, each in value.items()}
    return {"$dict": [[encode(key), encode(each)] for key, each in value.items()]}


def decode(value: Any) -> Any:
    """What ``encode`` was given.

    :raises RecordingError: it is not of its making, or a class is no longer there.
    """
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    name = next(iter(value), "")
    if not name.startswith("$"):
        return {key: decode(each) for key, each in value.items()}
    if name == "$object":
        return _object(value["$object"], value["fields"])
    if name not in _READ:
        raise RecordingError(f"{name} is no kind of value that a recording has")
    return _READ[name](value[name])


def _encode_row(row: Row) -> Any:
    names = row._fields
    values = [encode(each) for each in row._values]
    kind = {} if row.get_row_kind() is RowKind.INSERT else {"kind": str(row.get_row_kind())}
    return {"values": values, **({} if names is None else {"names": list(names)}), **kind}


def _decode_row(text: Any) -> Row:
    row = Row(*map(decode, text["values"]))
    if "names" in text:
        row.set_field_names(list(text["names"]))
    kinds = {str(kind): kind for kind in RowKind}
    row.set_row_kind(kinds[text.get("kind", str(RowKind.INSERT))])
    return row


def _sorted(value: Any) -> list[Any]:
    return sorted((encode(each) for each in value), key=repr)


def _delta(text: list[int]) -> datetime.timedelta:
    return datetime.timedelta(*text)


_KINDS: tuple[tuple[str, type, tuple[Callable[[Any], Any], Callable[[Any], Any]]], ...] = (
    ("tuple", tuple, (lambda value: [encode(each) for each in value], lambda text: tuple(map(decode, text)))),
    ("row", Row, (_encode_row, _decode_row)),
    ("bytes", bytes, (lambda value: base64.b64encode(value).decode(), base64.b64decode)),
    ("decimal", decimal.Decimal, (str, decimal.Decimal)),
    ("timestamp", pd.Timestamp, (lambda value: value.isoformat(), pd.Timestamp)),
    ("datetime", datetime.datetime, (lambda value: value.isoformat(), datetime.datetime.fromisoformat)),
    ("date", datetime.date, (lambda value: value.isoformat(), datetime.date.fromisoformat)),
    ("time", datetime.time, (lambda value: value.isoformat(), datetime.time.fromisoformat)),
    ("timedelta", datetime.timedelta, (lambda value: [value.days, value.seconds, value.microseconds], _delta)),
    ("set", set, (_sorted, lambda text: set(map(decode, text)))),
    ("frozenset", frozenset, (_sorted, lambda text: frozenset(map(decode, text)))),
)
"""name, class, (to what JSON has, and back)"""

_READ: dict[str, Callable[[Any], Any]] = {
    **{f"${name}": read for name, _, (_, read) in _KINDS},
    "$float": float,
    "$dict": lambda text: {decode(key): decode(each) for key, each in text},
    "$numpy": lambda text: np.dtype(text[0]).type(decode(text[1])),
}


def _field_names(kind: type) -> list[str] | None:
    """The fields of a dataclass or a named tuple, None for other classes."""
    if dataclasses.is_dataclass(kind):
        return [each.name for each in dataclasses.fields(kind)]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return list(kind._fields)
    return None


def _object(name: str, fields: dict[str, Any]) -> Any:
    """An object of a class that the program has; its constructor is not called."""
    module, _, path = name.partition(":")
    kind: Any = sys.modules.get(module)
    for part in path.split("."):
        kind = getattr(kind, part, None)
    names = _field_names(kind) if isinstance(kind, type) else None
    if names is None or names != list(fields):
        raise RecordingError(f"the program has no dataclass or named tuple {path} ({module}) with {', '.join(fields)}")
    values = {each: decode(value) for each, value in fields.items()}
    if issubclass(kind, tuple):
        return tuple.__new__(kind, values.values())
    made = object.__new__(kind)
    for each, value in values.items():
        object.__setattr__(made, each, value)
    return made
