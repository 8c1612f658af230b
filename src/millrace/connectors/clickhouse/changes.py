"""Rows in columns as what is inserted and deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from millrace.common.types import RowKind
from millrace.connectors.clickhouse.connection import ClickHouseTable, Connected, literal
from millrace.connectors.clickhouse.keys import one_of
from millrace.connectors.clickhouse.types import check_writable
from millrace.connectors.clickhouse.writing import lines
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.names import quoted
from millrace.connectors.stores.last_rows import last_rows
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, concat
from millrace.relational.values import to_python

_AT_ONCE = 1_000
"""keys of one deletion"""


class Updates(Enum):
    """What becomes of a row whose key is there already."""

    UPDATE = "update"
    """the old row is deleted before the new one is inserted"""
    INSERT = "insert"
    """the new row is inserted beside it, for tables that merge such rows themselves"""
    DISCARD = "discard"
    """nothing: the old row stays"""


@dataclass(frozen=True)
class ClickHouseChanges(Change[Rows]):
    """Inserts rows; with a key, as ``updates`` says."""

    table: ClickHouseTable
    columns: Schema
    keys: tuple[str, ...] = ()
    updates: Updates = Updates.UPDATE
    ignore_deletes: bool = False
    patience: float = 300.0
    """seconds in which a deletion has to be through"""

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: ClickHouse refuses; with the table's name."""
        names = [column.name for column in self.columns]
        places = [names.index(key) for key in self.keys]
        rows = concat(elements)
        if self.keys and self.updates is Updates.DISCARD:
            kinds = rows.kind_values()
            rows = rows.where((kinds == RowKind.INSERT.value) | (kinds == RowKind.DELETE.value))
        rows = last_rows(rows, self.keys, places, self.table.name)
        if not len(rows):
            return
        with self.table.told():
            there = connection.wanted(names)
            for column, each in zip(self.columns, there):
                check_writable(column.type, each)
            here = rows.where(rows.adds())
            data = lines(here.columns, [column.type for column in self.columns], there) if len(here) else b""
            gone = self._to_delete(rows)
            for begin in range(0, len(gone), _AT_ONCE):
                self._delete(connection, gone.take(range(begin, min(begin + _AT_ONCE, len(gone)))), places)
            if data:
                listed = ", ".join(quoted(name, "`") for name in names)
                connection.ask(f"INSERT INTO {self.table.quoted} ({listed}) FORMAT TabSeparated", data)

    def _to_delete(self, rows: Rows) -> Rows:
        if not self.keys:
            return rows.where(np.zeros(len(rows), bool))
        adds = rows.adds()
        replaced = adds if self.updates is Updates.UPDATE else np.zeros(len(rows), bool)
        return rows.where(replaced if self.ignore_deletes else replaced | ~adds)

    def _delete(self, connection: Connected, rows: Rows, places: Sequence[int]) -> None:
        """Delete by keys, and wait until that is done."""
        kinds = [self.columns[place].type for place in places]
        keys = list(zip(*(to_python(rows.columns[place], kind) for place, kind in zip(places, kinds))))
        connection.ask(f"ALTER TABLE {self.table.quoted} DELETE WHERE {one_of(self.keys, kinds, keys)}")
        until = time.monotonic() + self.patience
        which = f"database = {literal(self.table.database)} AND table = {literal(self.table.name)} AND NOT is_done"
        pause = 0.005
        while connection.ask(f"SELECT 1 FROM system.mutations WHERE {which} LIMIT 1 FORMAT TabSeparated"):
            if time.monotonic() > until:
                raise ValueError(f"a deletion of {len(rows)} keys was not through after {self.patience:g} s")
            time.sleep(pause)
            pause = min(0.5, pause * 2)
