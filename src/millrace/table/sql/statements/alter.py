"""ALTER: what is changed, and one class for each change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from millrace.table.sql.statements.base import Options, PartitionSpec, Statement, Written
from millrace.table.sql.statements.tables import Column, Distribution, PrimaryKey, Watermark
from millrace.table.sql.text.names import Name, Path


@dataclass(frozen=True)
class PlacedColumn:
    """A column with its place: first, after another, or (neither) where it is or at the end."""

    column: Column
    first: bool = False
    after: Name | None = None


Element: TypeAlias = PlacedColumn | Watermark | PrimaryKey | Distribution


@dataclass(frozen=True)
class Add:
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Modify:
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class DropColumns:
    columns: tuple[Path, ...]


@dataclass(frozen=True)
class DropPart:
    """``part``: PRIMARY KEY, WATERMARK, DISTRIBUTION, or CONSTRAINT with its name."""

    part: str
    name: Name | None = None


@dataclass(frozen=True)
class RenameColumn:
    column: Path
    to: Name


@dataclass(frozen=True)
class Rename:
    to: Path


@dataclass(frozen=True)
class SetOptions:
    options: Options


@dataclass(frozen=True)
class ResetOptions:
    keys: tuple[Name, ...]


@dataclass(frozen=True)
class SetComment:
    comment: str


@dataclass(frozen=True)
class AddPartitions:
    """Partitions with their options."""

    partitions: tuple[tuple[PartitionSpec, Options], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions:
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class SetQuery:
    """AS SELECT .., of a view or a materialized table."""

    query: Written


@dataclass(frozen=True)
class SetFunction:
    identifier: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False


@dataclass(frozen=True)
class Suspend:
    """Of a materialized table: it is refreshed no more."""


@dataclass(frozen=True)
class Resume:
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Refresh:
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


@dataclass(frozen=True)
class Alter(Statement):
    """``kind``: TABLE, MATERIALIZED TABLE, VIEW, DATABASE, FUNCTION, CATALOG, MODEL."""

    kind: str
    path: Path
    change: Change
    if_exists: bool = False
