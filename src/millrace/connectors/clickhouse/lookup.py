"""``ClickHouseLookup``: the rows of many keys by one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.connectors.clickhouse.connection import ClickHouseTable, Connected
from millrace.connectors.clickhouse.keys import one_of
from millrace.connectors.clickhouse.reading import read_columns, selected
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.stores.lookup import Found, StoreLookup, by_key
from millrace.relational.fields import Schema

_MOST = 500
"""keys of one query, whose text the server limits"""


class ClickHouseLookup(StoreLookup):
    """Asks a table for the rows of keys.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        table: ClickHouseTable,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(table, options, asking, _MOST)
        self._table = table
        self._columns = columns
        self._key = tuple(key)

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        with self._table.told():
            there = connection.wanted([column.name for column in self._columns])
            names = ", ".join(selected(each, column.type) for each, column in zip(there, self._columns))
            asked = [self._columns[place] for place in self._key]
            where = one_of([column.name for column in asked], [column.type for column in asked], keys)
            answer = connection.ask(f"SELECT {names} FROM {self._table.quoted} WHERE {where} FORMAT TabSeparated")
            rows = zip(*read_columns(answer, self._columns, there))
        return by_key(rows, self._key, keys)
