"""Queries, and statements that change rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.table.sql import nodes
from millrace.table.sql.statements.base import Options, PartitionSpec, Statement, Written
from millrace.table.sql.text.names import Name, Path


@dataclass(frozen=True)
class Query(Statement):
    tree: nodes.Node


@dataclass(frozen=True)
class Insert(Statement):
    """``options``: of the hint after the table. ``on_conflict``: ERROR, NOTHING, DEDUPLICATE or None."""

    path: Path
    query: Written
    columns: tuple[Name, ...] = ()
    partition: PartitionSpec = ()
    overwrite: bool = False
    options: Options = field(default_factory=dict)
    on_conflict: str | None = None


@dataclass(frozen=True)
class StatementSet(Statement):
    """Inserts that are one job."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class Delete(Statement):
    path: Path
    condition: Written | None = None


@dataclass(frozen=True)
class Update(Statement):
    path: Path
    assignments: tuple[tuple[Name, Written], ...]
    condition: Written | None = None


@dataclass(frozen=True)
class Truncate(Statement):
    path: Path


@dataclass(frozen=True)
class Call(Statement):
    """A procedure of a catalog. Arguments by name are ``nodes.Kwarg``."""

    path: Path
    arguments: tuple[nodes.Node, ...] = ()
