"""Rows in columns: what flows between the operators of a streaming plan, as one element of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import RowKind

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = (kind.value for kind in RowKind)

Kinds = np.ndarray[Any, np.dtype[np.uint8]]


class Rows:
    """A batch of rows with their kinds. Columns have the names ``c0``, ``c1``, ... Never changed."""

    __slots__ = ("batch", "kinds")

    def __init__(self, batch: pa.RecordBatch, kinds: Kinds | None = None) -> None:
        self.batch = batch
        self.kinds = kinds
        """None: every row is an insertion; else a ``RowKind`` value a row"""

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.batch, self.kinds)

    def __repr__(self) -> str:
        return f"Rows({len(self)} x {self.batch.num_columns}{'' if self.kinds is None else ', with changes'})"

    @property
    def columns(self) -> list[pa.Array]:
        return list(self.batch.columns)

    def kind_values(self) -> Kinds:
        """The kind of every row."""
        return np.zeros(len(self), np.uint8) if self.kinds is None else self.kinds

    def take(self, indices: Any) -> Rows:
        """These rows, by position (a numpy or Arrow array of integers)."""
        where = indices if isinstance(indices, pa.Array) else pa.array(indices)
        kinds = None if self.kinds is None else self.kinds[np.asarray(indices)]
        return Rows(self.batch.take(where), kinds)

    def where(self, mask: Any) -> Rows:
        """The rows for which ``mask`` (Booleans: numpy, or Arrow with NULL for no) is true."""
        if isinstance(mask, (pa.Array, pa.ChunkedArray)):
            mask = mask.fill_null(False).to_numpy(zero_copy_only=False)
        kinds = None if self.kinds is None else self.kinds[mask]
        return Rows(self.batch.filter(pa.array(mask)), kinds)

    def with_columns(self, columns: Sequence[pa.Array]) -> Rows:
        """Other columns, the same kinds."""
        return Rows(record_batch(columns, len(self)), self.kinds)

    def adds(self) -> Any:
        """Whether each row adds to the table (an insertion or the new side of an update), as numpy Booleans."""
        kinds = self.kind_values()
        return (kinds == INSERT) | (kinds == UPDATE_AFTER)


def record_batch(columns: Sequence[pa.Array], length: int) -> pa.RecordBatch:
    """Columns as a batch with the names that ``Rows`` use; without columns it still has its length."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), [f"c{index}" for index in range(len(columns))])
    return pa.RecordBatch.from_struct_array(pa.array([{}] * length, pa.struct([])))


def concat(parts: Sequence[Rows]) -> Rows:
    """The rows of several batches with the same columns, in order."""
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches([part.batch for part in parts]).combine_chunks()
    batches = table.to_batches()
    batch = batches[0] if batches else parts[0].batch
    if all(part.kinds is None for part in parts):
        return Rows(batch)
    return Rows(batch, np.concatenate([part.kind_values() for part in parts]))


def count(values: list[Any]) -> int:
    """How many elements these are in metrics: of batches of rows it is the rows."""
    if values and values[0].__class__ is Rows:
        return sum(map(len, values))
    return len(values)
