"""Queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.calls import Distinct, Window
from millrace.table.sql.nodes.clauses import Group, Having, Hint, Limit, Offset, Order, Qualify, TableAlias, Where
from millrace.table.sql.nodes.operators import Tuple
from millrace.table.sql.nodes.relations import Join


@dataclass(frozen=True, slots=True)
class CTE(Node):
    """A query that WITH names."""

    this: Query
    alias: TableAlias


@dataclass(frozen=True, slots=True)
class With(Node):
    """WITH."""

    expressions: tuple[CTE, ...]
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Query(Node):
    """What gives rows, and may have clauses before and behind it."""

    with_: With | None = field(default=None, kw_only=True)
    order: Order | None = field(default=None, kw_only=True)
    limit: Limit | None = field(default=None, kw_only=True)
    offset: Offset | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class From(Node):
    """FROM, with its first relation."""

    this: Node


@dataclass(frozen=True, slots=True)
class Select(Query):
    """SELECT."""

    expressions: tuple[Node, ...]
    distinct: Distinct | None = None
    hint: Hint | None = None
    from_: From | None = None
    joins: tuple[Join, ...] = ()
    where: Where | None = None
    group: Group | None = None
    having: Having | None = None
    windows: tuple[Window, ...] = ()
    qualify: Qualify | None = None


@dataclass(frozen=True, slots=True)
class SetOperation(Query):
    """Two queries as one."""

    this: Query
    expression: Query
    distinct: bool = True


@dataclass(frozen=True, slots=True)
class Union(SetOperation):
    """UNION."""


@dataclass(frozen=True, slots=True)
class Intersect(SetOperation):
    """INTERSECT."""


@dataclass(frozen=True, slots=True)
class Except(SetOperation):
    """EXCEPT, MINUS."""


@dataclass(frozen=True, slots=True)
class Values(Query):
    """VALUES: one ``Tuple`` a row."""

    expressions: tuple[Tuple, ...]


@dataclass(frozen=True, slots=True)
class Subquery(Query):
    """A query in brackets. ``alias``: in FROM."""

    this: Query
    alias: TableAlias | None = None
