"""Rows in columns as puts and deletes of a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.dbapi.changes import Change
from millrace.connectors.hbase.connection import Connected, Gateway, refused
from millrace.connectors.hbase.layout import Layout
from millrace.connectors.stores.last_rows import last_rows
from millrace.relational.rows import Rows, concat
from millrace.relational.values import to_python

_AT_ONCE = 1_000
"""rows of one request"""
_NEXT_TIME = 0.002
"""seconds. What is put in the millisecond of a deletion, HBase takes for deleted, too"""


@dataclass(frozen=True)
class HBaseChanges(Change[Rows]):
    """Puts the declared cells of each row, or deletes them."""

    gateway: Gateway
    layout: Layout
    ignore_nulls: bool = False

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: HBase refuses; with the table's name."""
        layout = self.layout
        key = layout.columns[layout.key]
        rows = last_rows(concat(elements), (key.name,), (layout.key,), self.gateway.table)
        values = [to_python(values, column.type) for column, values in zip(layout.columns, rows.columns)]
        changes = list(zip(map(layout.key_encoder, values[layout.key]), zip(*values), rows.adds().tolist()))
        try:
            self._write(connection, changes)
        except Exception as error:
            if not refused(error):
                raise
            raise self.gateway.failed(error) from None

    def _write(self, connection: Connected, changes: Sequence[tuple[bytes, Sequence[Any], bool]]) -> None:
        names = [cell.name for cell in self.layout.cells]
        gone = [key for key, _, adds in changes if not adds]
        for begin in range(0, len(gone), _AT_ONCE):
            with connection.table.batch() as batch:
                for key in gone[begin : begin + _AT_ONCE]:
                    batch.delete(key, names)
        here = [(key, row) for key, row, adds in changes if adds]
        for begin in range(0, len(here), _AT_ONCE):
            with connection.table.batch() as batch:
                for key, row in here[begin : begin + _AT_ONCE]:
                    cells = self.layout.cells_of(row, self.ignore_nulls)
                    if cells:
                        batch.put(key, cells)
        if gone:
            time.sleep(_NEXT_TIME)
