"""UNNEST on columns: the elements of all arrays, maps or multisets of a batch, with the rows that they come from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.types import ArrayType, DataType, MapType, MultisetType, RowType
from millrace.runtime.tables.columns.keys import Ids


def unnest(column: pa.Array, data_type: DataType, ordinality: bool) -> tuple[Ids, list[pa.Array]]:
    """(the row of each element, the columns of the elements). A NULL collection has no elements.

    :param ordinality: add a last column with the index of the element in its collection, from 1.
    :raises TypeError: the type is no collection.
    """
    if not isinstance(data_type, (ArrayType, MapType, MultisetType)):
        raise TypeError(f"UNNEST takes an ARRAY, MAP or MULTISET, not {data_type}")
    if pa.types.is_map(column.type):
        entry = pa.struct([pa.field("key", column.type.key_type, False), pa.field("value", column.type.item_type)])
        column = column.cast(pa.list_(entry))
    parents = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    elements = pc.list_flatten(column)
    if isinstance(data_type, MultisetType):
        entries, counts = elements.flatten()
        repeated = np.repeat(np.arange(len(entries)), counts.to_numpy())
        parents, elements = parents[repeated], entries.take(pa.array(repeated))
    columns = elements.flatten() if _has_columns(data_type) else [elements]
    if ordinality:
        columns.append(pa.array(_places(parents), pa.int32()))
    return parents, columns


def _has_columns(data_type: DataType) -> bool:
    """Whether an element has several columns: a row, or key and value of a map."""
    return isinstance(data_type, MapType) or isinstance(getattr(data_type, "element_type", None), RowType)


def _places(parents: Ids) -> Ids:
    """Counts from 1 within runs of equal neighbours."""
    first = np.ones(len(parents), bool)
    first[1:] = parents[1:] != parents[:-1]
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(parents)))
    return np.arange(1, len(parents) + 1) - np.repeat(starts, sizes)
