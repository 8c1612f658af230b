"""Queries."""

from __future__ import annotations

from dataclasses import field

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.calls import Distinct, Window
from millrace.table.sql.nodes.clauses import Group, Having, Hint, Limit, Offset, Order, Qualify, TableAlias, Where
from millrace.table.sql.nodes.operators import Tuple
from millrace.table.sql.nodes.relations import Join


class CTE(Node):
    """A query that WITH names."""

    this: Query
    alias: TableAlias


class With(Node):
    """WITH."""

    expressions: tuple[CTE, ...]
    recursive: bool = False


class Query(Node):
    """What gives rows, and may have clauses before and behind it."""

    with_: With | None = field(default=None, kw_only=True)
    order: Order | None = field(default=None, kw_only=True)
    limit: Limit | None = field(default=None, kw_only=True)
    offset: Offset | None = field(default=None, kw_only=True)


class From(Node):
    """FROM, with its first relation."""

    this: Node


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


class SetOperation(Query):
    """Two queries as one."""

    this: Query
    expression: Query
    distinct: bool = True


class Union(SetOperation):
    """UNION."""


class Intersect(SetOperation):
    """INTERSECT."""


class Except(SetOperation):
    """EXCEPT, MINUS."""


class Values(Query):
    """VALUES: one ``Tuple`` a row."""

    expressions: tuple[Tuple, ...]


class Subquery(Query):
    """A query in brackets. ``alias``: in FROM."""

    this: Query
    alias: TableAlias | None = None
