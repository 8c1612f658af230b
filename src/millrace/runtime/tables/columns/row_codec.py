"""Converts whole rows to tuples of plain values and back: the form of rows in keyed state.

The values are those of keys (``keys.py``), except that times are integers: there are many, and making a ``datetime``
for each is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.runtime.tables.columns.keys import hashable_values, value_column

Row = tuple[Any, ...]


class RowCodec:
    """Converts rows with columns of these Arrow types."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = types

    def rows(self, columns: Sequence[pa.Array], length: int) -> list[Row]:
        """The rows of a batch as tuples; a batch without columns has ``length`` empty rows."""
        return list(zip(*map(cell_values, columns))) if columns else [()] * length

    def columns(self, rows: Sequence[Row]) -> list[pa.Array]:
        """The columns of these rows."""
        if not rows:
            return [pa.array([], each) for each in self.types]
        return [cell_column(values, each) for values, each in zip(zip(*rows), self.types)]


def cell_values(column: pa.Array) -> list[Any]:
    """The values of a column in the form that they have in rows."""
    plain = _as_integers(column.type)
    return hashable_values(column) if plain is None else column.view(plain).to_pylist()


def cell_column(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """A column of values that ``cell_values`` returned."""
    plain = _as_integers(data_type)
    return value_column(values, data_type) if plain is None else pa.array(values, plain).view(data_type)


def _as_integers(data_type: pa.DataType) -> pa.DataType | None:
    """The integer type for values of a temporal type; None for other types."""
    if pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type) or pa.types.is_time64(data_type):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(data_type) else None
