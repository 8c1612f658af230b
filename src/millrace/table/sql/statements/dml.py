"""Queries, and statements that change rows."""

from __future__ import annotations

from dataclasses import field

from millrace.table.sql import nodes
from millrace.table.sql.statements.base import Options, PartitionSpec, Statement, Written
from millrace.table.sql.text.names import Name, Path


class Query(Statement):
    tree: nodes.Node


class Insert(Statement):
    """``options``: of the hint after the table. ``on_conflict``: ERROR, NOTHING, DEDUPLICATE or None."""

    path: Path
    query: Written
    columns: tuple[Name, ...] = ()
    partition: PartitionSpec = ()
    overwrite: bool = False
    options: Options = field(default_factory=dict)
    on_conflict: str | None = None


class StatementSet(Statement):
    """Inserts that are one job."""

    inserts: tuple[Insert, ...]


class Delete(Statement):
    path: Path
    condition: Written | None = None


class Update(Statement):
    path: Path
    assignments: tuple[tuple[Name, Written], ...]
    condition: Written | None = None


class Truncate(Statement):
    path: Path


class Call(Statement):
    """A procedure of a catalog. Arguments by name are ``nodes.Kwarg``."""

    path: Path
    arguments: tuple[nodes.Node, ...] = ()
