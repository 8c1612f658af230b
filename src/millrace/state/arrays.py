"""Columns of a savepoint brought into the shape in which people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.checkpoint.values.classes import Classes
from millrace.checkpoint.values.columns import INERT, decode
from millrace.checkpoint.values.evolution import EvolutionError
from millrace.checkpoint.values.pickles import encode_pickles
from millrace.state.plain import without_classes
from millrace.state.shapes import (
    Described,
    Many,
    Opaque,
    Pairs,
    Record,
    Shape,
    fields_of,
    shape_of,
    type_of,
)

__all__ = ["Column", "arrays_of"]

Column = tuple[Any, Described]
"""an Arrow array, and how it was encoded"""


def arrays_of(columns: Sequence[tuple[Column | None, Shape]], rows: int, known: Classes) -> list[Any]:
    """The arrays that ``fields_of`` names for columns of these shapes; None stands for a column that is missing."""
    arrays: list[Any] = []
    for column, shape in columns:
        if column is None:
            missing = pa.nulls(rows, pa.large_string() if isinstance(shape, Opaque) else type_of(shape))
            arrays += [missing, pa.nulls(rows, pa.large_binary())] if isinstance(shape, Opaque) else [missing]
        else:
            array, described = column
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
            if isinstance(shape, Opaque):
                arrays += _opaque(array, described, known)
            else:
                arrays.append(_array(array, described, shape, known))
    return arrays


def _array(array: Any, described: Described, shape: Shape, known: Classes) -> Any:
    wanted = type_of(shape)
    if described["form"] == "none":
        return pa.nulls(len(array), wanted)
    if array.type == wanted and shape_of(described) == shape:
        return array
    if isinstance(shape, Record):
        return _struct(array, described, shape, known)
    if isinstance(shape, Many):
        elements = _array(array.values, described["element"], shape.element, known)
        return pa.LargeListArray.from_arrays(_own(array.offsets), elements, mask=array.is_null())
    if isinstance(shape, Pairs):
        keys = _array(array.keys, described["key"], shape.key, known)
        items = _array(array.items, described["value"], shape.value, known)
        return pa.MapArray.from_arrays(_own(array.offsets), keys, items, mask=array.is_null())
    return array.cast(wanted)


def _struct(array: Any, described: Described, shape: Record, known: Classes) -> Any:
    parts = [(array.field(place), child) for place, child in enumerate(described["columns"])]
    columns = [(part, child) for part, (_, child) in zip(parts, shape.fields)]
    arrays = arrays_of(columns, len(array), known)
    return pa.StructArray.from_arrays(arrays, fields=fields_of(shape.fields), mask=array.is_null())


def _own(offsets: Any) -> Any:
    """A copy: of a slice no array with a mask can be made."""
    return pa.array(offsets.to_numpy())


# -- values without a type of Arrow -----------------------------------------------------------------------------------


def _opaque(array: Any, described: Described, known: Classes) -> list[Any]:
    """Their text, and their pickles."""
    if described["form"] == "none":
        return [pa.nulls(len(array), pa.large_string()), pa.nulls(len(array), pa.large_binary())]
    if described["form"] == "pickle":
        return [_texts(_unpickled(array, described, known)), array.cast(pa.large_binary())]
    if described["form"] == INERT:
        return [_texts(decode(array, described)), array.cast(pa.large_binary())]
    try:
        values = decode(array, described, known)
    except EvolutionError:
        values = decode(array, without_classes(described))
    pickles = encode_pickles([value for value in values if value is not None])[0]
    there = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return [_texts(values), pickles.take(pa.array(np.cumsum(there) - 1, mask=~there))]


def _unpickled(array: Any, described: Described, known: Classes) -> list[Any]:
    """The values. What can't be unpickled here, because its class is missing, must not hinder reading the rest."""
    try:
        return decode(array, described, known)
    except EvolutionError as error:
        names = ", ".join(each["name"].replace(":", ".") for each in described["classes"]) or "?"
        why = str(error.__cause__ or error).splitlines()[0]
        return [stored and _Unreadable(names, len(stored), why) for stored in array.to_pylist()]


@dataclass(frozen=True)
class _Unreadable:
    """Stands for a value that can't be unpickled."""

    classes: str
    size: int
    why: str

    def __repr__(self) -> str:
        return f"<{self.classes}: {self.size} bytes that can't be unpickled here ({self.why})>"


def _texts(values: Sequence[Any]) -> Any:
    return pa.array([None if value is None else repr(value) for value in values], pa.large_string())
