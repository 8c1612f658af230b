"""``JdbcLookup``: the rows of many keys by one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.connectors.jdbc.sink import Database
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.stores.lookup import Found, StoreLookup
from millrace.relational.fields import Schema
from millrace.relational.values import to_arrow


class JdbcLookup(StoreLookup):
    """Asks a table for the rows of keys.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(database, options, asking)
        self._database = database
        self._name = name
        self._columns = columns
        self._key = tuple(key)

    def described(self, error: Exception) -> Exception:
        said = self._database.target.masked(error)
        return RuntimeError(f"{self._database.dialect.title}, table {self._name}: {said}")

    def ask(self, connection: Any, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        pairs = self._pairs(connection, keys)
        columns = self._values([row for _, row in pairs])
        answers: list[list[tuple[Any, ...]]] = [[] for _ in keys]
        for (place, _), row in zip(pairs, zip(*columns)):
            answers[place].append(row)
        return answers

    def _values(self, rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """The rows as columns of Python values.

        :raises ValueError: one that there is none for; says in which column.
        """
        dialect = self._database.dialect
        try:
            return dialect.columns_of(rows, [each.type for each in self._columns])
        except ValueError:
            for place, column in enumerate(self._columns):
                try:
                    dialect.columns_of([(row[place],) for row in rows], [column.type])
                except ValueError as error:
                    raise ValueError(f"table {self._name}, column '{column.name}': {error}") from None
            raise

    def _pairs(self, connection: Any, keys: Sequence[tuple[Any, ...]]) -> list[tuple[int, tuple[Any, ...]]]:
        dialect = self._database.dialect
        named = [(self._columns[place].name, self._columns[place].type) for place in self._key]
        wanted = ", ".join(dialect.selected(column.name, column.type) for column in self._columns)
        table = dialect.table(self._name)
        values = [to_arrow(list(column), kind) for column, (_, kind) in zip(zip(*keys), named)]
        found = dialect.find(connection, wanted, table, named, values)
        if found is None:
            found = []
            for place, key in enumerate(keys):
                alone = [to_arrow([value], kind) for value, (_, kind) in zip(key, named)]
                found += [(place, row) for _, row in dialect.find(connection, wanted, table, named, alone) or ()]
        return found
