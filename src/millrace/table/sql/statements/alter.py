"""ALTER: what is changed, and one class for each change."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from millrace.table.sql.statements.base import Options, PartitionSpec, Statement, Written
from millrace.table.sql.statements.tables import Column, Distribution, PrimaryKey, Watermark
from millrace.table.sql.text.names import Name, Path
from millrace.util.record import Record


class PlacedColumn(Record):
    """A column with its place: first, after another, or (neither) where it is or at the end."""

    column: Column
    first: bool = False
    after: Name | None = None


Element: TypeAlias = PlacedColumn | Watermark | PrimaryKey | Distribution


class Add(Record):
    elements: tuple[Element, ...]


class Modify(Record):
    elements: tuple[Element, ...]


class DropColumns(Record):
    columns: tuple[Path, ...]


class DropPart(Record):
    """``part``: PRIMARY KEY, WATERMARK, DISTRIBUTION, or CONSTRAINT with its name."""

    part: str
    name: Name | None = None


class RenameColumn(Record):
    column: Path
    to: Name


class Rename(Record):
    to: Path


class SetOptions(Record):
    options: Options


class ResetOptions(Record):
    keys: tuple[Name, ...]


class SetComment(Record):
    comment: str


class AddPartitions(Record):
    """Partitions with their options."""

    partitions: tuple[tuple[PartitionSpec, Options], ...]
    if_not_exists: bool = False


class DropPartitions(Record):
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


class SetQuery(Record):
    """AS SELECT .., of a view or a materialized table."""

    query: Written


class SetFunction(Record):
    identifier: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False


class Suspend(Record):
    """Of a materialized table: it is refreshed no more."""


class Resume(Record):
    options: Options = field(default_factory=dict)


class Refresh(Record):
    partition: PartitionSpec = ()


Change: TypeAlias = (
    Add
    | Modify
    | DropColumns
    | DropPart
    | RenameColumn
    | Rename
    | SetOptions
    | ResetOptions
    | SetComment
    | AddPartitions
    | DropPartitions
    | SetQuery
    | SetFunction
    | Suspend
    | Resume
    | Refresh
)


class Alter(Statement):
    """``kind``: TABLE, MATERIALIZED TABLE, VIEW, DATABASE, FUNCTION, CATALOG, MODEL."""

    kind: str
    path: Path
    change: Change
    if_exists: bool = False
