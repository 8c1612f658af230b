"""Accumulators in columns: keys, then a column for each slot. Rows with equal keys are merged without Python per
key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Slot
from millrace.relational.rows import record_batch
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_columns, key_tuples, taken
from millrace.runtime.tables.columns.reduction import reduce_columns


class PartialColumns:
    """Makes and merges batches of accumulators.

    :param keys: the types of the key columns.
    :param slots: the slots of the accumulators, the count of rows first.
    """

    def __init__(self, keys: Sequence[pa.DataType], slots: Sequence[Slot]) -> None:
        self.keys = tuple(keys)
        self.slots = tuple(slots)
        self.width = len(self.keys)

    def made_of(self) -> tuple[Any, ...]:
        """The arguments of ``made_from``, which can be pickled."""
        slots = self.slots
        kinds = types_as_bytes([slot.type for slot in slots])
        return (
            types_as_bytes(self.keys),
            kinds,
            tuple(slot.reduce for slot in slots),
            tuple(each.zero for each in slots),
        )

    @classmethod
    def made_from(cls, keys: bytes, slots: bytes, reduces: Sequence[str], zeros: Sequence[Any]) -> PartialColumns:
        """Accumulators that are only merged as columns."""
        made = [Slot(kind, reduce, _unused, zero) for kind, reduce, zero in zip(types_of(slots), reduces, zeros)]
        return cls(types_of(keys), made)

    def batch(self, keys: Sequence[pa.Array], slots: Sequence[pa.Array], length: int) -> pa.RecordBatch:
        """A batch of these columns, converted to the types of this object."""
        values = [as_type(column, slot.type) for column, slot in zip(slots, self.slots)]
        return record_batch([*self.key_columns(keys), *values], length)

    def key_columns(self, keys: Sequence[pa.Array]) -> list[pa.Array]:
        """Key columns, converted to the types of this object."""
        return [_without_negative_zero(as_type(column, kind)) for column, kind in zip(keys, self.keys)]

    def merged(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """The rows of several batches, the oldest batch first, merged to one row per key."""
        columns, length = joined(batches)
        ids, first = group_ids(columns[: self.width], length)
        return self.reduced(columns, ids, first)

    def reduced(self, columns: Sequence[pa.Array], ids: Ids, first: Ids) -> pa.RecordBatch:
        """Merge rows by group.

        :param ids: the group of each row.
        :param first: the first row of each group.
        """
        slots = list(zip(columns[self.width :], (slot.reduce for slot in self.slots)))
        keys = taken(columns[: self.width], first, len(ids))
        return self.batch(keys, reduce_columns(ids, len(first), slots), len(first))

    def entries(self, batch: pa.RecordBatch) -> list[tuple[Key, tuple[Any, ...]]]:
        """(key, accumulator) of each row, in the form of ``Accumulators``."""
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        slots = [filled(column, slot).to_pylist() for column, slot in zip(batch.columns[self.width :], self.slots)]
        return list(zip(keys, zip(*slots)))

    def of_entries(self, entries: Sequence[tuple[Key, tuple[Any, ...]]]) -> pa.RecordBatch:
        """A batch of (key, accumulator) pairs, the inverse of ``entries``."""
        values = zip(*(accumulator for _, accumulator in entries))
        slots = [pa.array(each, slot.type) for each, slot in zip(values, self.slots)]
        return self.batch(key_columns([key for key, _ in entries], self.keys), slots, len(entries))


def _unused(older: Any, newer: Any) -> Any:
    raise NotImplementedError("accumulators in columns are merged as columns")


def joined(batches: Sequence[pa.RecordBatch]) -> tuple[list[pa.Array], int]:
    """The columns of all rows, and the number of rows."""
    if len(batches) == 1:
        return list(batches[0].columns), batches[0].num_rows
    columns = [pa.concat_arrays(parts) for parts in zip(*(batch.columns for batch in batches))]
    return columns, sum(batch.num_rows for batch in batches)


def filled(column: pa.Array, slot: Slot) -> pa.Array:
    """A slot column with its zero in place of NULL."""
    if not column.null_count or slot.zero is None:
        return column
    return pc.fill_null(column, pa.scalar(slot.zero, column.type))


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column cast to a type; without a cast if it has the type, since even that costs as much."""
    return column if column.type == kind else column.cast(kind)


def _without_negative_zero(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column
