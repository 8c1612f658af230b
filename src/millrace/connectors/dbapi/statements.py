"""The statements of an upsert, as databases know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["UpsertNames", "UpsertStatements"]


@dataclass(frozen=True)
class UpsertStatements:
    """What is executed for the keys that go, and for the rows that come."""

    delete: str
    upsert: str
    delete_first: bool = False
    """whether the row that has the key must go before"""


@dataclass(frozen=True)
class UpsertNames:
    """A table and its columns, quoted."""

    table: str
    columns: Sequence[str]
    keys: Sequence[str]

    def delete(self, marks: Sequence[str]) -> str:
        return f"DELETE FROM {self.table} WHERE {_equal(self.keys, marks)}"

    def insert(self, marks: Sequence[str]) -> str:
        return f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES ({', '.join(marks)})"

    def on_conflict(self, marks: Sequence[str]) -> str:
        """SQLite, PostgreSQL, DuckDB."""
        return f"{self.insert(marks)} {self.conflict_clause()}"

    def conflict_clause(self) -> str:
        """What is behind the rows there."""
        updated = self._updated()
        action = f"DO UPDATE SET {_set(updated, 'excluded.{}')}" if updated else "DO NOTHING"
        return f"ON CONFLICT ({', '.join(self.keys)}) {action}"

    def on_duplicate_key(self, marks: Sequence[str]) -> str:
        """MySQL, MariaDB."""
        return f"{self.insert(marks)} {self.duplicate_clause()}"

    def duplicate_clause(self) -> str:
        """What is behind the rows there."""
        return f"ON DUPLICATE KEY UPDATE {_set(self._updated() or self.keys, 'VALUES({})')}"

    def _updated(self) -> list[str]:
        return [column for column in self.columns if column not in self.keys]


def _equal(columns: Sequence[str], marks: Sequence[str]) -> str:
    return " AND ".join(f"{column} = {mark}" for column, mark in zip(columns, marks))


def _set(columns: Sequence[str], source: str) -> str:
    # Not str.format: a name may have braces.
    return ", ".join(f"{column} = {source.replace('{}', column)}" for column in columns)
