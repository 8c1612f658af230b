"""The constraints of a table on values, including those inside ROW, ARRAY and MAP: NOT NULL, and lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import is_text
from millrace.relational.types import DataType

_FIXED = (t.CharType, t.BinaryType)
_SIZED = (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType)
IGNORE, ROWS, ROWS_AND_COLLECTIONS = "IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wrong:
    """A value that violates a constraint."""

    place: str
    """path of the value: ``a.b[0]``, ``a.m[key]``"""
    type: DataType
    value: Any


def is_sized(data_type: DataType) -> bool:
    """Whether values of a type can be too long."""
    return isinstance(data_type, _SIZED) and data_type.length != t.MAX_LENGTH


def is_fixed(data_type: DataType) -> bool:
    """Whether values of a type can also be too short."""
    return isinstance(data_type, _FIXED)


@dataclass(frozen=True)
class Demands:
    """Checks columns, and the values inside them as far as ``nested`` says.

    :param nested: IGNORE, ROWS or ROWS_AND_COLLECTIONS.
    """

    nested: str = IGNORE

    def parts(self, data_type: DataType) -> list[DataType]:
        """The types inside a type that are checked, too."""
        if isinstance(data_type, t.RowType) and self.nested != IGNORE:
            return [field.data_type for field in data_type.fields]
        if self.nested != ROWS_AND_COLLECTIONS:
            return []
        if isinstance(data_type, t.MapType):
            return [data_type.key_type, data_type.value_type]
        return [data_type.element_type] if isinstance(data_type, t.ArrayType) else []

    def any_of(self, data_type: DataType, test: Callable[[DataType], bool]) -> bool:
        """Whether a test holds for a type, or for a checked type inside it."""
        return test(data_type) or any(self.any_of(part, test) for part in self.parts(data_type))

    def trims_in_collection(self, data_type: DataType) -> bool:
        """Whether a length inside ARRAY or MAP is checked."""
        within = isinstance(data_type, (t.ArrayType, t.MapType)) and self.any_of(data_type, is_sized)
        return within or any(map(self.trims_in_collection, self.parts(data_type)))

    def nulls(self, column: pa.Array, data_type: DataType) -> Mask:
        """Where a NULL is not allowed, in a value or inside it."""
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        own = np.zeros(len(column), bool) if data_type.is_nullable else ~valid
        return own | self._inside(column, data_type, self.nulls)

    def lengths(self, column: pa.Array, data_type: DataType) -> Mask:
        """Where a length is wrong, of a value or inside it."""
        if not is_sized(data_type):
            return self._inside(column, data_type, self.lengths)
        length: int = data_type.length  # type: ignore[attr-defined]
        sizes = pc.utf8_length(column) if is_text(data_type) else pc.binary_length(column)
        wrong = pc.not_equal(sizes, length) if is_fixed(data_type) else pc.greater(sizes, length)
        found: Mask = wrong.fill_null(False).to_numpy(zero_copy_only=False)
        return found

    def sized(self, column: pa.Array, data_type: DataType) -> pa.Array:
        """Values cut and padded to their lengths, also inside rows."""
        if is_sized(data_type):
            return _sized(column, data_type)
        if not isinstance(data_type, t.RowType) or not self.parts(data_type) or not self.any_of(data_type, is_sized):
            return column
        kinds = self.parts(data_type)
        fields = [self.sized(column.field(place), kind) for place, kind in enumerate(kinds)]
        return pa.StructArray.from_arrays(fields, fields=list(column.type), mask=column.is_null())

    def first(self, value: Any, data_type: DataType, place: str, length: bool) -> Wrong | None:
        """The first value that violates a constraint, with its path; None: there is none."""
        if value is None:
            return None if data_type.is_nullable or length else Wrong(place, data_type, None)
        if length and is_sized(data_type):
            size: int = data_type.length  # type: ignore[attr-defined]
            wrong = len(value) != size if is_fixed(data_type) else len(value) > size
            return Wrong(place, data_type, value) if wrong else None
        inside = self._values(value, data_type, place)
        return next(filter(None, (self.first(each, kind, name, length) for name, kind, each in inside)), None)

    def _inside(self, column: pa.Array, data_type: DataType, check: Callable[[pa.Array, DataType], Mask]) -> Mask:
        found = np.zeros(len(column), bool)
        kinds = self.parts(data_type)
        if not kinds:
            return found
        if isinstance(data_type, t.RowType):
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            for place, kind in enumerate(kinds):
                found |= check(column.field(place), kind) & valid
            return found
        lists = _as_list(column) if isinstance(data_type, t.MapType) else column
        rows = pc.list_parent_indices(lists).to_numpy()
        flat = lists.flatten()
        columns = [flat.field(place) for place in range(2)] if isinstance(data_type, t.MapType) else [flat]
        for values, kind in zip(columns, kinds):
            found[rows[check(values, kind)]] = True
        return found

    def _values(self, value: Any, data_type: DataType, place: str) -> Iterator[tuple[str, DataType, Any]]:
        """The values inside a value, with their paths and types."""
        kinds = self.parts(data_type)
        if not kinds:
            return
        if isinstance(data_type, t.RowType):
            for field, each in zip(data_type.fields, value.values()):
                yield f"{place}.{field.name}", field.data_type, each
        elif isinstance(data_type, t.MapType):
            for key, each in value:
                yield f"{place}[key]", kinds[0], key
                yield f"{place}[value]", kinds[1], each
        else:
            for at, each in enumerate(value):
                yield f"{place}[{at}]", kinds[0], each


def _as_list(column: pa.Array) -> pa.Array:
    """A MAP as an ARRAY of its entries, because Arrow has no functions to take a MAP apart."""
    entry = pa.struct([pa.field("key", column.type.key_type, False), pa.field("value", column.type.item_type)])
    return column.cast(pa.list_(entry))


def _sized(column: pa.Array, data_type: DataType) -> pa.Array:
    length: int = data_type.length  # type: ignore[attr-defined]
    fixed = is_fixed(data_type)
    if is_text(data_type):
        cut = pc.utf8_slice_codeunits(column, 0, length)
        return pc.utf8_rpad(cut, length) if fixed else cut
    cut = pc.binary_slice(column, 0, length)
    if not fixed:
        return cut
    return pa.array([None if each is None else each.ljust(length, b"\0") for each in cut.to_pylist()], pa.binary())
