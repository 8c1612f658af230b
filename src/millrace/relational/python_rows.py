"""Rows in columns as ``Row``: what programs, streams and sinks of Python values get."""

from __future__ import annotations

from millrace.common.types import Row, RowKind, row_of
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows
from millrace.relational.values import to_python

_KINDS = list(RowKind)


def python_rows(rows: Rows, columns: Schema) -> list[Row]:
    """Columns as rows of Python values, with their names and kinds."""
    names = [column.name for column in columns]
    values = [to_python(array, column.type) for array, column in zip(rows.columns, columns)]
    kinds = [_KINDS[kind] for kind in rows.kind_values().tolist()]
    return [row_of(list(each), names, kind) for each, kind in zip(zip(*values), kinds)]
