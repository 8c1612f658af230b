"""What stands in FROM."""

from __future__ import annotations

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.clauses import Hint, TableAlias
from millrace.table.sql.nodes.names import Identifier


class Version(Node):
    """FOR SYSTEM_TIME AS OF."""

    expression: Node


class Table(Node):
    """A table by its names."""

    this: Identifier
    db: Identifier | None = None
    catalog: Identifier | None = None
    hints: tuple[Hint, ...] = ()
    version: Version | None = None
    alias: TableAlias | None = None

    @property
    def name(self) -> str:
        return self.this.name


class Lateral(Node):
    """LATERAL and a query in brackets."""

    this: Node
    alias: TableAlias | None = None


class TableFunction(Node):
    """A call in FROM."""

    this: Node
    lateral: bool = False
    alias: TableAlias | None = None


class Unnest(Node):
    """UNNEST of an array, map or multiset. ``offset``: WITH ORDINALITY."""

    expressions: tuple[Node, ...]
    offset: bool = False
    alias: TableAlias | None = None


class Join(Node):
    """A join with the relation ``this``. A comma is a CROSS JOIN."""

    this: Node
    side: str | None = None
    kind: str = "INNER"
    method: str | None = None
    on: Node | None = None
    using: tuple[Identifier, ...] = ()


class Sampled(Node):
    """A relation with TABLESAMPLE: some of its rows. ``seed`` is that of REPEATABLE."""

    this: Node
    method: str
    """BERNOULLI or SYSTEM"""
    percent: str
    """as it is written"""
    seed: int | None = None


class Joined(Node):
    """A relation with joins of its own: a join in brackets, or a RIGHT or FULL join after a comma."""

    this: Node
    joins: tuple[Join, ...]
