"""State with the present rows of each key, and the order in which they arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.rows import Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Key, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec

PLACES = "rows"
"""name of the state"""


class PlacedRows:
    """key -> (the row, or its unique columns) -> (arrival numbers, row). To be made in ``setup``.

    :param unique: columns by which changes identify rows: a new row replaces the one before. None: changes contain the
        whole row, and equal rows may exist several times.
    :param compared: columns in which equal rows agree, if ``unique`` is None; None: all. Values that are computed again
        for a deletion, as RAND(), do not identify a row.
    """

    def __init__(
        self,
        operator: KeyedTableOperator[Any],
        codec: RowCodec,
        unique: Sequence[int] | None,
        compared: Sequence[int] | None = None,
    ) -> None:
        self._rows = operator.keyed_map(PLACES)
        self._next = operator.keyed_value("next place")
        self._codec = codec
        self._unique = unique
        self._names = compared if unique is None else unique

    def update(self, keys: Sequence[Key], rows: Rows) -> None:
        """Apply the changes of a batch; ``keys`` has the key of each row."""
        unique = self._unique
        values = self._codec.rows(rows.columns, len(rows))
        names: Sequence[Any] = values
        if self._names is not None:
            names = key_tuples([rows.batch.column(index) for index in self._names], len(rows))
        for key, name, row, adds in zip(keys, names, values, rows.adds().tolist()):
            known = self._rows.get(key, name)
            if adds:
                place = (self._next.get(key) or 0) + 1
                self._next.put(key, place)
                places = () if known is None or unique is not None else known[0]
                self._rows.put(key, name, ((*places, place), row))
            elif known is not None and len(known[0]) > 1:
                self._rows.put(key, name, (known[0][1:], known[1]))
            elif known is not None:
                self._rows.remove(key, name)

    def in_order(self, key: Key) -> list[Row]:
        """The rows of a key in the order of arrival."""
        placed = sorted((place, row) for _, (places, row) in self._rows.items(key) for place in places)
        return [row for _, row in placed]

    def latest(self, key: Key) -> Row | None:
        """The row of a key that arrived last; None: there is none."""
        entries = [entry for _, entry in self._rows.items(key)]
        return max(entries, key=lambda entry: entry[0][-1])[1] if entries else None

    def forget_empty(self, key: Key) -> None:
        """Remove all state of a key without rows."""
        if not self._rows.items(key):
            self._next.remove(key)
