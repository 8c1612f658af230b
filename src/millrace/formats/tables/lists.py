"""List columns with other elements."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def list_column(lengths: pa.Array, elements: pa.Array) -> pa.ListArray:
    """Lists of so many elements each, one after the other; NULL instead of a length gives a NULL list."""
    ends = pc.cumulative_sum(lengths.fill_null(0).cast(pa.int64())).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    kind = pa.list_(elements.type)
    return pa.ListArray.from_arrays(offsets, elements, kind, mask=lengths.is_null() if lengths.null_count else None)


def relisted(column: pa.Array, elements: pa.Array) -> pa.ListArray:
    """The lists of a column with other elements, as many as ``column.flatten()`` has."""
    return list_column(pc.list_value_length(column), elements)
