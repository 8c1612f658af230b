"""``JdbcRowsSource``: the rows of a table, read once, in one part or several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from millrace.connectors.jdbc.sink import Database
from millrace.connectors.ranges import split_range
from millrace.connectors.stores.parts import PartsSource
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import IntType


@dataclass(frozen=True)
class Partitions:
    """A column of whole numbers whose values cut the table into parts."""

    column: str
    count: int
    lower: int
    upper: int
    """the highest value that is read"""

    def conditions(self, name: str) -> list[str]:
        """:param name: of the column, quoted."""
        parts = split_range(self.lower, self.upper + 1, self.count)
        return [f"{name} BETWEEN {part.start} AND {part.stop - 1}" for part in parts]


@dataclass(frozen=True)
class Query:
    """What is read of a table."""

    table: str
    columns: Schema
    """that are wanted"""
    conditions: tuple[str, ...] = ()
    """in the database's SQL"""
    fetch: int = 0
    limit: int | None = None
    """rows that are enough"""

    def text(self, database: Database) -> str:
        dialect = database.dialect
        wanted = ", ".join(dialect.selected(column.name, column.type) for column in self.columns) or "1"
        where = f" WHERE {' AND '.join(f'({each})' for each in self.conditions)}" if self.conditions else ""
        end = "" if self.limit is None else f" LIMIT {self.limit}"
        return f"SELECT {wanted} FROM {self.source(database)}{where}{end}"

    def source(self, database: Database) -> str:
        """What is behind FROM."""
        return database.dialect.table(self.table)

    def batches(self, database: Database) -> Iterator[Rows]:
        """:raises RuntimeError: the database refuses, or has what the declared types cannot hold."""
        kinds = [column.type for column in self.columns]
        try:
            for batch in database.dialect.batches(
                database.target, self.text(database), kinds or [IntType()], self.fetch
            ):
                yield Rows(record_batch(batch.columns if kinds else [], len(batch)))
        except (ImportError, GeneratorExit):
            raise
        except Exception as error:
            where = f"{database.dialect.title} at {database.target.place}, table {self.table}"
            raise RuntimeError(f"{where}: {database.target.masked(error)}") from None


@dataclass(frozen=True)
class JdbcSplit:
    """A part of a table that is still to be read."""

    split_id: str
    condition: str | None = None


class JdbcRowsSource(PartsSource[Rows, JdbcSplit]):
    """Reads a table, a query for each part."""

    def __init__(self, database: Database, query: Query, partitions: Partitions | None = None) -> None:
        self._database = database
        self._query = query
        self._partitions = partitions

    def parts(self) -> list[JdbcSplit]:
        if self._partitions is None:
            return [JdbcSplit("0")]
        conditions = self._partitions.conditions(self._database.dialect.name(self._partitions.column))
        return [JdbcSplit(str(number), condition) for number, condition in enumerate(conditions)]

    def elements(self, part: JdbcSplit) -> Iterator[Rows]:
        query = self._query
        if part.condition is not None:
            query = replace(query, conditions=(*query.conditions, part.condition))
        return query.batches(self._database)
