"""Rows in columns as ``Row``: what programs, streams and sinks of Python values get."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.common.types import Row, RowKind, row_of
from millrace.relational.fields import Field, Schema
from millrace.relational.rows import Rows
from millrace.relational.values import to_python

_KINDS = list(RowKind)


def python_rows(rows: Rows, columns: Schema) -> list[Row]:
    """Columns as rows of Python values, with their names and kinds."""
    names = [column.name for column in columns]
    values = [_values(array, column) for array, column in zip(rows.columns, columns)]
    kinds = [_KINDS[kind] for kind in rows.kind_values().tolist()]
    return [row_of(list(each), names, kind) for each, kind in zip(zip(*values), kinds)]


def _values(array: pa.Array, column: Field) -> list[Any]:
    try:
        return to_python(array, column.type)
    except OverflowError as error:
        raise OverflowError(f"column '{column.name}': {error}") from None
