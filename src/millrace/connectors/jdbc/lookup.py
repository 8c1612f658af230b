"""``JdbcLookup``: the rows of many keys by one statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.connectors.jdbc.sink import Buffering, Database, Retrying
from millrace.relational.fields import Schema
from millrace.relational.sources import LookupTableSource
from millrace.relational.values import to_arrow

MOST = 2_000
"""keys that are asked for together"""


class JdbcLookup(LookupTableSource):
    """Asks a table for the rows of keys.

    :param key: which of the columns are the key.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        retries: int,
    ) -> None:
        self._database = database
        self._name = name
        self._columns = columns
        self._key = tuple(key)
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._retries = retries
        self._retrying: Retrying | None = None

    def open(self) -> None:
        self._retrying = Retrying(self._database, Buffering(retries=self._retries))

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        found: list[Sequence[tuple[Any, ...]]] = []
        for begin in range(0, len(keys), MOST):
            found += self._lookup(keys[begin : begin + MOST])
        return found

    def _lookup(self, keys: Sequence[tuple[Any, ...]]) -> list[Sequence[tuple[Any, ...]]]:
        assert self._retrying is not None, "open() comes first"
        try:
            pairs = self._retrying.run(lambda connection: self._ask(connection, keys))
        except (ImportError, ValueError, LookupError):
            raise
        except Exception as error:
            said = self._database.target.masked(error)
            raise RuntimeError(f"{self._database.dialect.title}, table {self._name}: {said}") from error
        columns = self._database.dialect.columns_of([row for _, row in pairs], [each.type for each in self._columns])
        answers: list[list[tuple[Any, ...]]] = [[] for _ in keys]
        for (place, _), row in zip(pairs, zip(*columns)):
            answers[place].append(row)
        return list(answers)

    def _ask(self, connection: Any, keys: Sequence[tuple[Any, ...]]) -> list[tuple[int, tuple[Any, ...]]]:
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

    def close(self) -> None:
        if self._retrying is not None:
            self._retrying.close()
