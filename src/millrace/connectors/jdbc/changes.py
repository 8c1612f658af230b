"""Rows in columns as changes of a table: what is left of an epoch, and how it gets there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.dbapi.changes import Change
from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.target import TableShape
from millrace.connectors.stores.last_rows import last_rows
from millrace.relational.rows import Rows, concat
from millrace.relational.types import DataType
from millrace.util.secrets import mask_text


@dataclass(frozen=True)
class RowChanges(Change[Rows]):
    """Appends rows to a table without a key; keeps one row per key in a table with one."""

    dialect: Dialect
    shape: TableShape
    kinds: tuple[DataType, ...]
    """the types of the columns"""

    def apply(self, connection: Any, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: the database refuses; with the table's name."""
        rows = self.reduced(concat(elements))
        if not len(rows):
            return
        try:
            self._write(connection, rows)
        except (ValueError, LookupError):
            raise
        except Exception as error:
            if self.dialect.is_passing(error):
                raise
            said = mask_text(str(error).strip())
            raise RuntimeError(f"{self.dialect.title}, table {self.shape.table}: {said}") from error

    def _write(self, connection: Any, rows: Rows) -> None:
        if not self.shape.keys:
            self.dialect.append(connection, self.shape, rows.columns, self.kinds)
            return
        adds = rows.adds()
        places = self.shape.key_places
        gone, here = rows.where(~adds), rows.where(adds)
        if len(gone):
            keys = [gone.columns[place] for place in places]
            self.dialect.delete(connection, self.shape, keys, [self.kinds[place] for place in places])
        if len(here):
            self.dialect.upsert(connection, self.shape, here.columns, self.kinds)

    def reduced(self, rows: Rows) -> Rows:
        """The last row of each key, in the order of the keys: so two tasks never wait for each other.

        :raises ValueError: a key is NULL.
        """
        return last_rows(rows, self.shape.keys, self.shape.key_places, self.shape.table)
