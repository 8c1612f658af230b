"""Columns that can be overwritten by row number, unlike Arrow's, which never change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.keys import Ids


class WrittenColumn(ABC):
    """Values of one type. A row must be written before it is read."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind

    @abstractmethod
    def grow(self, length: int) -> None:
        """Make room for this many rows."""

    @abstractmethod
    def write(self, rows: Ids, values: pa.Array) -> None:
        """Set the values of these rows, which must be distinct."""

    @abstractmethod
    def take(self, rows: Ids) -> pa.Array:
        """The values of these rows."""

    @abstractmethod
    def keep(self, rows: Ids) -> None:
        """Remove all other rows; these rows get the numbers 0, 1, and so on."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The size of all values in bytes; of objects an estimate."""


class FixedColumn(WrittenColumn):
    """Values of a fixed size in bytes.

    :param nullable: whether a value may be NULL.
    """

    def __init__(self, kind: pa.DataType, nullable: bool) -> None:
        super().__init__(kind)
        width = kind.bit_width // 8
        self._form = np.dtype(f"u{width}" if width <= 8 else f"V{width}")
        self._values = np.zeros(0, self._form)
        self._valid = np.zeros(0, bool) if nullable else None

    def grow(self, length: int) -> None:
        self._values = with_room(self._values, length)
        if self._valid is not None:
            self._valid = with_room(self._valid, length)

    def write(self, rows: Ids, values: pa.Array) -> None:
        if not len(rows):
            return
        size = self._form.itemsize
        self._values[rows] = np.frombuffer(values.buffers()[1], self._form, len(values), values.offset * size)
        if self._valid is not None:
            self._valid[rows] = values.is_valid().to_numpy(zero_copy_only=False)

    def take(self, rows: Ids) -> pa.Array:
        marks = None
        if self._valid is not None and not (valid := self._valid[rows]).all():
            marks = pa.py_buffer(np.packbits(valid, bitorder="little"))
        values = self._values[rows].view(np.uint8)
        return pa.Array.from_buffers(self.kind, len(rows), [marks, pa.py_buffer(values)])

    def keep(self, rows: Ids) -> None:
        self._values = self._values[rows]
        if self._valid is not None:
            self._valid = self._valid[rows]

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + (0 if self._valid is None else self._valid.nbytes)


OBJECT_BYTES = 64
"""The size of a value as a Python object, with the reference to it."""


class ObjectColumn(WrittenColumn):
    """Values of any type, as Python objects."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._values: Any = np.zeros(0, object)

    def grow(self, length: int) -> None:
        self._values = with_room(self._values, length)

    def write(self, rows: Ids, values: pa.Array) -> None:
        for row, value in zip(rows.tolist(), values.to_pylist()):  # numpy would take lists apart
            self._values[row] = value

    def take(self, rows: Ids) -> pa.Array:
        return pa.array(self._values[rows].tolist(), self.kind)

    def keep(self, rows: Ids) -> None:
        self._values = self._values[rows]

    @property
    def nbytes(self) -> int:
        return len(self._values) * OBJECT_BYTES


def written_column(kind: pa.DataType, nullable: bool) -> WrittenColumn:
    """A column without rows."""
    plain = pa.types.is_primitive(kind) and kind.bit_width in (8, 16, 32, 64)
    return FixedColumn(kind, nullable) if plain or pa.types.is_decimal(kind) else ObjectColumn(kind)
