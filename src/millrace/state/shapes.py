"""What columns of a savepoint look like to those who read them as data: shapes, which files of one state may differ in.

A shape follows from the description of a column (``checkpoint.values.columns``) without reading it.
Where files differ beyond help, and where values are pickled, the shape is ``Opaque``: their text, and beside it their
pickles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["Many", "Nothing", "Opaque", "Pairs", "Plain", "Record", "Shape", "fields_of", "shape_of", "unify"]

Described = dict[str, Any]

PICKLE_SUFFIX = "_pickle"
"""of the column with the pickles of an opaque one"""


@dataclass(frozen=True)
class Plain:
    """Values that Arrow has a type for."""

    type: Any
    """a ``pyarrow.DataType``"""


@dataclass(frozen=True)
class Record:
    """Structs: tuples, rows, dataclasses and their like."""

    fields: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True)
class Many:
    """Lists."""

    element: Shape


@dataclass(frozen=True)
class Pairs:
    """Maps."""

    key: Shape
    value: Shape


@dataclass(frozen=True)
class Opaque:
    """Values that Arrow has no type for."""


@dataclass(frozen=True)
class Nothing:
    """Only None, or no values at all."""


Shape = Plain | Record | Many | Pairs | Opaque | Nothing

_TEXT, _BYTES = pa.large_string(), pa.large_binary()
PLAIN = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "big int": _TEXT,
    "float": pa.float64(),
    "str": _TEXT,
    "bytes": _BYTES,
    "datetime": pa.timestamp("us"),
    "datetime in UTC": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timedelta": pa.duration("us"),
    "decimal": _TEXT,
    "uuid": _TEXT,
    "enum": _TEXT,
    "global window": _TEXT,
    "count window": pa.int64(),
}
"""form of a column -> its Arrow type"""


def shape_of(described: Described) -> Shape:
    """The shape of a column."""
    form = described["form"]
    if form in PLAIN:
        return Plain(PLAIN[form])
    if form == "numpy":
        return Plain(pa.from_numpy_dtype(np.dtype(described["dtype"])))
    if form == "none":
        return Nothing()
    if "columns" in described:
        parts = map(shape_of, described["columns"])
        return Record(tuple(zip(record_names(described), parts)))
    if form in ("lists", "tuples"):
        return _many(shape_of(described["element"]))
    if form == "dicts":
        return _pairs(shape_of(described["key"]), shape_of(described["value"]))
    return Opaque()


def record_names(described: Described) -> list[str]:
    """The names of the fields of a struct column."""
    if "class" in described:
        return list(described["class"]["fields"])
    names = list(described.get("names") or ())
    count = len(described["columns"])
    if described["form"] == "row" and "kind" not in described:
        count -= 1
        return [*(names or _numbered(count)), "row kind"]
    return names or _numbered(count)


def _numbered(count: int) -> list[str]:
    return [f"f{place}" for place in range(count)]


def _many(element: Shape) -> Shape:
    return Opaque() if isinstance(element, Opaque) else Many(element)


def _pairs(key: Shape, value: Shape) -> Shape:
    return Opaque() if Opaque() in (key, value) else Pairs(key, value)


# -- columns of several files -----------------------------------------------------------------------------------------


def unify(shapes: Iterable[Shape]) -> Shape:
    """The shape that columns of all these shapes can be brought into."""
    nothing: Shape = Nothing()
    return reduce(_unify, shapes, nothing)


def _unify(a: Shape, b: Shape) -> Shape:
    if a == b or isinstance(b, Nothing):
        return a
    if isinstance(a, Nothing):
        return b
    if isinstance(a, Record) and isinstance(b, Record):
        names = [name for name, _ in a.fields]
        if names == [name for name, _ in b.fields]:
            parts = (_unify(x, y) for (_, x), (_, y) in zip(a.fields, b.fields))
            return Record(tuple(zip(names, parts)))
    if isinstance(a, Many) and isinstance(b, Many):
        return _many(_unify(a.element, b.element))
    if isinstance(a, Pairs) and isinstance(b, Pairs):
        return _pairs(_unify(a.key, b.key), _unify(a.value, b.value))
    return Opaque()


# -- as Arrow types ---------------------------------------------------------------------------------------------------


def fields_of(columns: Sequence[tuple[str, Shape]]) -> list[Any]:
    """The Arrow fields of columns: one each, two for an opaque one."""
    fields = []
    for (_, shape), (name, pickles) in zip(columns, column_names(columns)):
        fields.append(pa.field(name, _TEXT if isinstance(shape, Opaque) else type_of(shape)))
        if pickles is not None:
            fields.append(pa.field(pickles, _BYTES))
    return fields


def column_names(columns: Sequence[tuple[str, Shape]]) -> list[tuple[str, str | None]]:
    """For each column its name, and that of the column with its pickles if it is opaque."""
    taken = {name for name, _ in columns}
    found: list[tuple[str, str | None]] = []
    for name, shape in columns:
        pickles = None
        if isinstance(shape, Opaque):
            pickles = f"{name}{PICKLE_SUFFIX}"
            while pickles in taken:
                pickles += "_"
            taken.add(pickles)
        found.append((name, pickles))
    return found


def type_of(shape: Shape) -> Any:
    """The Arrow type of a shape that is not opaque."""
    if isinstance(shape, Plain):
        return shape.type
    if isinstance(shape, Record):
        return pa.struct(fields_of(shape.fields))
    if isinstance(shape, Many):
        return pa.large_list(type_of(shape.element))
    if isinstance(shape, Pairs):
        return pa.map_(type_of(shape.key), type_of(shape.value))
    assert isinstance(shape, Nothing)
    return pa.bool_()
