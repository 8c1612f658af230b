"""A table of a database as its changes need it: name, columns, key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millrace.relational.types import DataType

__all__ = ["Column", "TableId", "TableSchema"]


@dataclass(frozen=True, order=True)
class TableId:
    """The name of a table: schema and table in PostgreSQL, database and table in MySQL.

    :ivar namespace: the database of databases that have schemas below it; empty in MySQL.
    """

    namespace: str
    schema: str
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.namespace, self.schema, self.table) if part)

    @property
    def short(self) -> str:
        """``schema.table``."""
        return f"{self.schema}.{self.table}" if self.schema else self.table


@dataclass(frozen=True)
class Column:
    """A column. :ivar native: its type in the database's own words."""

    name: str
    type: DataType
    native: str = ""
    comment: str | None = None
    default: str | None = None


@dataclass(frozen=True)
class TableSchema:
    """Columns in their order, and the names of those of the primary key."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    comment: str | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def types(self) -> tuple[DataType, ...]:
        return tuple(column.type for column in self.columns)

    @cached_property
    def key_places(self) -> tuple[int, ...]:
        return tuple(self.names.index(name) for name in self.primary_key)
