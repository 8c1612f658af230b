"""``Ddl``: the statements that make and change tables in one kind of database."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.metadata.known import metadata_of
from millrace.relational.types import DataType

_CONSTANT = re.compile(
    r"(?:-?\d+(?:\.\d+)?|'(?:[^'\\]|'')*'|true|false)(?:::[a-z][a-z0-9_ ]*(?:\(\d+(?:,\d+)?\))?)?", re.IGNORECASE
)


@dataclass(frozen=True)
class NewColumn:
    """A column to be made.

    :ivar native: its type in the words of a database of the same kind; empty: made of ``type``.
    :ivar default: what rows that are there get, in the same words.
    """

    name: str
    type: DataType
    native: str = ""
    default: str | None = None

    @property
    def constant(self) -> str | None:
        """The default, if it is a constant: calls and sequences belong to the database that they come from."""
        text = (self.default or "").strip()
        return text if _CONSTANT.fullmatch(text) else None


class Ddl(ABC):
    """Statements for one dialect. Columns beside the key may be NULL: the place that rows come from has checked them.

    Names of tables are those of ``Dialect.table``.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        """The type of a column as the database calls it."""

    def schema(self, table: str) -> list[str]:
        """What makes the schema that a table is in, unless it is there."""
        return []

    def create(
        self, table: str, columns: Sequence[NewColumn], keys: Sequence[str], options: Mapping[str, str]
    ) -> list[str]:
        """What makes a table, unless it is there."""
        parts = [self._column(column, column.name in keys) for column in columns]
        if keys:
            parts.append(f"PRIMARY KEY ({', '.join(map(self.dialect.name, keys))})")
        head = f"CREATE TABLE IF NOT EXISTS {self.dialect.table(table)}"
        return [f"{head} ({', '.join(parts)}){self.behind(options)}"]

    def behind(self, options: Mapping[str, str]) -> str:
        """What stands behind the columns of a new table.

        :raises ValueError: an option that tables of this database do not have.
        """
        if options:
            raise ValueError(f"tables of {self.dialect.title} have no option '{next(iter(options))}' here")
        return ""

    def _column(self, column: NewColumn, is_key: bool) -> str:
        required = " NOT NULL" if is_key else ""
        return f"{self.dialect.name(column.name)} {self.type_name(column, is_key)}{required}"

    def add(self, table: str, column: NewColumn) -> list[str]:
        default = f" DEFAULT {column.constant}" if column.constant is not None else ""
        return [f"ALTER TABLE {self.dialect.table(table)} ADD COLUMN {self._column(column, False)}{default}"]

    def drop(self, table: str, name: str) -> list[str]:
        return [f"ALTER TABLE {self.dialect.table(table)} DROP COLUMN {self.dialect.name(name)}"]

    def rename(self, table: str, old: str, new: str) -> list[str]:
        names = f"{self.dialect.name(old)} TO {self.dialect.name(new)}"
        return [f"ALTER TABLE {self.dialect.table(table)} RENAME COLUMN {names}"]

    @abstractmethod
    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        """What gives a column another type."""

    def truncate(self, table: str) -> list[str]:
        return [f"TRUNCATE TABLE {self.dialect.table(table)}"]

    def drop_table(self, table: str) -> list[str]:
        return [f"DROP TABLE IF EXISTS {self.dialect.table(table)}"]

    def columns(self, connection: Any, table: str) -> list[str]:
        """The names of a table's columns; empty if there is no such table."""
        return [each.name for each in metadata_of(self.dialect).columns(connection, table)]

    def run(self, connection: Any, statements: Sequence[str]) -> None:
        """Within the transaction at hand, where the database has DDL in transactions."""
        with closing(connection.cursor()) as cursor:
            for each in statements:
                cursor.execute(each)
