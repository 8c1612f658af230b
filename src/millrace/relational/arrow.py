"""How values of each data type lie in Arrow columns: one form inside of all plans."""

from __future__ import annotations

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.type_table import row_of


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """The Arrow type of a column.

    :raises NotImplementedError: nothing can be computed with this type (TIMESTAMP WITH TIME ZONE).
    """
    row = row_of(data_type)
    if not callable(row.arrow):
        return row.arrow
    return row.arrow(data_type, *map(arrow_type, row.parts(data_type)))


def schema_of(columns: list[t.DataType]) -> pa.Schema:
    """The schema of a batch of rows with columns of these types, named ``c0``, ``c1``, ..."""
    return pa.schema([(f"c{index}", arrow_type(each)) for index, each in enumerate(columns)])


def alike(one: t.DataType, other: t.DataType) -> bool:
    """Whether columns of two types hold equal values in one form, as texts of any length do."""
    return bool(arrow_type(one) == arrow_type(other))
