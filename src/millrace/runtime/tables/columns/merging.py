"""Merges accumulators of the same keys in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Slot
from millrace.runtime.tables.columns.reduction import reduce_columns


def merged(older: Sequence[pa.Array], newer: Sequence[pa.Array], slots: Sequence[Slot]) -> list[pa.Array]:
    """The merged column of each slot; both sides have an accumulator at each index."""
    return [_merged(old, new, slot) for old, new, slot in zip(older, newer, slots)]


def _merged(old: pa.Array, new: pa.Array, slot: Slot) -> pa.Array:
    kind, how = slot.type, slot.reduce
    if how == "first":
        return pc.coalesce(old, new)
    if how == "last":
        return pc.coalesce(new, old)
    if how == "sum" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return pc.add(old, new)
    if how != "sum" and pa.types.is_timestamp(kind) and kind.tz is not None:
        # Arrow compares times with a zone, but does not choose between them.
        plain = pa.timestamp(kind.unit)
        return _merged(old.view(plain), new.view(plain), Slot(plain, how, slot.merge)).view(kind)
    if how != "sum" and (pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return (pc.min_element_wise if how == "min" else pc.max_element_wise)(old, new)
    ids = np.tile(np.arange(len(old)), 2)
    (found,) = reduce_columns(ids, len(old), [(pa.concat_arrays([old, new]), how)])
    return found
