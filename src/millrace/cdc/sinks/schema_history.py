"""What a sink remembers in the database: columns that got another name, or are gone.

Rows that come again after a failure may be older than the last changes of their table: this says where their values
belong now. It stands in ``millrace_schema_changes`` beside the table, one row for each column, written with the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cdc.events import DropColumnEvent, RenameColumnEvent, SchemaChangeEvent
from millrace.connectors.jdbc.ddl.base import Ddl

NAME = "millrace_schema_changes"
_COLUMNS = "table_name, lineage, version, place, old_name, new_name"


@dataclass(frozen=True)
class Moved:
    """A column that is called otherwise from a version of its table on, or gone."""

    version: int
    old: str
    new: str | None


@dataclass(frozen=True)
class History:
    """What is known of one table, in the order in which it happened."""

    moved: tuple[Moved, ...] = ()

    def current(self, name: str, version: int, there: frozenset[str] | set[str]) -> str | None:
        """What a column of a version is called now; None: it is gone.

        :param there: the columns that the table has. The last change may be told of and not made.
        """
        found: str | None = name
        for each in self.moved:
            if each.version > version and each.old == found:
                if self.is_last(each.version) and each.new is not None and each.new not in there and each.old in there:
                    continue
                found = each.new
        return found

    def is_last(self, version: int) -> bool:
        """Whether no later change takes something away."""
        return all(each.version <= version for each in self.moved)

    def has(self, version: int) -> bool:
        """Whether a change that takes something away was told of."""
        return any(each.version == version for each in self.moved)


def moves(event: SchemaChangeEvent, version: int) -> list[Moved]:
    """What of a change has to be remembered."""
    if isinstance(event, RenameColumnEvent):
        return [Moved(version, old, new) for old, new in event.names.items()]
    return [Moved(version, name, None) for name in event.names] if isinstance(event, DropColumnEvent) else []


class Histories:
    """Reads and writes what is remembered."""

    def __init__(self, ddl: Ddl) -> None:
        self._ddl = ddl
        self._mark = "?" if ddl.dialect.style == "qmark" else "%s"

    def load(self, connection: Any, table: str, lineage: str) -> History:
        """:param lineage: which run of a pipeline the versions are of."""
        if not self._ddl.columns(connection, _beside(table)):
            return History()
        query = (
            f"SELECT version, old_name, new_name FROM {self._ddl.dialect.table(_beside(table))} "
            f"WHERE table_name = {self._mark} AND lineage = {self._mark} ORDER BY version, place"
        )
        with closing(connection.cursor()) as cursor:
            cursor.execute(query, (table, lineage))
            return History(tuple(Moved(int(version), old, new) for version, old, new in cursor.fetchall()))

    def prepare(self, table: str) -> list[str]:
        """What makes the place for it."""
        names = {"table_name": "VARCHAR(200)", "lineage": "VARCHAR(40)", "version": "BIGINT", "place": "INT"}
        parts = [f"{name} {kind} NOT NULL" for name, kind in {**names, "old_name": "VARCHAR(200)"}.items()]
        key = f"PRIMARY KEY ({', '.join(names)})"
        place = self._ddl.dialect.table(_beside(table))
        return [f"CREATE TABLE IF NOT EXISTS {place} ({', '.join(parts)}, new_name VARCHAR(200), {key})"]

    def record(self, connection: Any, table: str, lineage: str, moved: Sequence[Moved]) -> None:
        """Within the transaction of the change, before it: what commits by itself then has told of it first."""
        marks = ", ".join([self._mark] * 6)
        statement = f"INSERT INTO {self._ddl.dialect.table(_beside(table))} ({_COLUMNS}) VALUES ({marks})"
        with closing(connection.cursor()) as cursor:
            for place, each in enumerate(moved):
                cursor.execute(statement, (table, lineage, each.version, place, each.old, each.new))


def _beside(table: str) -> str:
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}{NAME}"
