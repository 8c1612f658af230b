"""Tables of a captured database and what happens to them: changes of rows, changes of schemas.

The names are Flink CDC's. Pipelines (``millrace.cdc``), deserializers and table sources all work on these.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millrace.relational.types import DataType


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


class OperationType(enum.Enum):
    """What was done to a row; the values are Debezium's letters."""

    INSERT = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    """the row was there when the snapshot was taken"""


@dataclass(frozen=True)
class SourceMetadata:
    """Where a change comes from."""

    timestamp: int
    """ms since 1970: when it was committed; 0 for rows of the snapshot"""
    position: str = ""
    """position in the log, in the database's notation; empty for rows of the snapshot"""
    snapshot: bool = False
    transaction: int | str | None = None


@dataclass(frozen=True)
class Event:
    """Something that happened to a table."""

    table: TableId


@dataclass(frozen=True)
class DataChangeEvent(Event):
    """A row before and after, as values in the Python form of the columns of ``schema``.

    :ivar before: of UPDATE and DELETE; None where the log does not have it. Where the log has the key only
        (``before_is_key``) the other values are None.
    :ivar schema: as it was when the row was changed: the same object for neighbouring changes.
    """

    op: OperationType
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None
    schema: TableSchema = field(repr=False)
    source: SourceMetadata = field(default=SourceMetadata(0), compare=False)
    before_is_key: bool = False


@dataclass(frozen=True)
class SchemaChangeEvent(Event):
    """A table itself was changed; all events of it that follow are of the new schema.

    :ivar result: the whole schema afterwards, if more is known of it than the event says: types in the database's
        words, columns that were moved.
    """

    result: TableSchema | None = field(default=None, kw_only=True, compare=False, repr=False)

    def after(self, schema: TableSchema) -> TableSchema:
        """The schema afterwards, as exactly as it is known."""
        return self.apply(schema) if self.result is None else self.result

    def apply(self, schema: TableSchema) -> TableSchema:
        """The schema afterwards."""
        return schema


@dataclass(frozen=True)
class CreateTableEvent(SchemaChangeEvent):
    """A table as it is when its first row is read. Comes before anything else of it."""

    schema: TableSchema

    def apply(self, schema: TableSchema) -> TableSchema:
        return self.schema


@dataclass(frozen=True)
class AddedColumn:
    """A new column and its place: LAST, FIRST, BEFORE or AFTER another one."""

    column: Column
    position: str = "LAST"
    existing: str | None = None


@dataclass(frozen=True)
class AddColumnEvent(SchemaChangeEvent):
    """Columns were added. Rows from before have the column's default or NULL there, which is no change of them."""

    added: tuple[AddedColumn, ...]

    def apply(self, schema: TableSchema) -> TableSchema:
        columns = list(schema.columns)
        for each in self.added:
            names = [column.name for column in columns]
            places = {"LAST": len(columns), "FIRST": 0}
            if each.position in places:
                place = places[each.position]
            else:
                place = names.index(each.existing or "") + (each.position == "AFTER")
            columns.insert(place, each.column)
        return replace(schema, columns=tuple(columns))


@dataclass(frozen=True)
class DropColumnEvent(SchemaChangeEvent):
    """Columns are gone."""

    names: tuple[str, ...]

    def apply(self, schema: TableSchema) -> TableSchema:
        return replace(schema, columns=tuple(each for each in schema.columns if each.name not in self.names))


@dataclass(frozen=True)
class RenameColumnEvent(SchemaChangeEvent):
    """Columns have other names: old to new."""

    names: Mapping[str, str]

    def apply(self, schema: TableSchema) -> TableSchema:
        columns = tuple(replace(each, name=self.names.get(each.name, each.name)) for each in schema.columns)
        keys = tuple(self.names.get(each, each) for each in schema.primary_key)
        return replace(schema, columns=columns, primary_key=keys)


@dataclass(frozen=True)
class AlterColumnTypeEvent(SchemaChangeEvent):
    """Columns have other types."""

    types: Mapping[str, DataType]
    old_types: Mapping[str, DataType] = field(default_factory=dict)

    def apply(self, schema: TableSchema) -> TableSchema:
        columns = tuple(replace(each, type=self.types.get(each.name, each.type)) for each in schema.columns)
        return replace(schema, columns=columns)


@dataclass(frozen=True)
class TruncateTableEvent(SchemaChangeEvent):
    """All rows are gone at once; there is no change for each of them."""


@dataclass(frozen=True)
class DropTableEvent(SchemaChangeEvent):
    """The table is gone."""


def changed(table: TableId, old: TableSchema, new: TableSchema) -> tuple[SchemaChangeEvent, ...]:
    """What makes one schema the other, found by names: a column that was renamed counts as dropped and added.

    Their order is one in which they can be applied; what comes out has the columns in the order of ``new`` only if no
    column was moved.
    """
    found: list[SchemaChangeEvent] = []
    before = {column.name: column for column in old.columns}
    after = {column.name: column for column in new.columns}
    gone = tuple(name for name in before if name not in after)
    if gone:
        found.append(DropColumnEvent(table, gone))
    other = {name: column for name, column in after.items() if name in before and before[name].type != column.type}
    if other:
        types = {name: column.type for name, column in other.items()}
        found.append(AlterColumnTypeEvent(table, types, {name: before[name].type for name in other}))
    added = []
    previous: str | None = None
    for name, column in after.items():
        if name not in before:
            added.append(AddedColumn(column, *(("FIRST",) if previous is None else ("AFTER", previous))))
        previous = name
    if added:
        found.append(AddColumnEvent(table, tuple(added)))
    return tuple(found)
