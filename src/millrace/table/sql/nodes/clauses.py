"""Clauses of queries."""

from __future__ import annotations

from millrace.table.sql.nodes.base import Node, Word
from millrace.table.sql.nodes.names import Identifier


class Alias(Node):
    """What has a name: an item of SELECT, a measure, a definition, a subset. ``others``: names of more columns, which
    the Table API gives to functions that make several."""

    this: Node
    alias: Identifier
    others: tuple[Identifier, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.this for each in (self.alias, *self.others))


class TableAlias(Node):
    """The name of a relation, and those of its columns."""

    this: Identifier
    columns: tuple[Identifier, ...] = ()

    @property
    def name(self) -> str:
        return self.this.name


class Ordered(Node):
    """An item of ORDER BY. ``nulls_first`` is None when it was not said."""

    this: Node
    desc: bool = False
    nulls_first: bool | None = None


class Order(Node):
    """ORDER BY."""

    expressions: tuple[Ordered, ...]


class Limit(Node):
    """LIMIT, FETCH FIRST."""

    expression: Node


class Offset(Node):
    """OFFSET."""

    expression: Node


class Where(Node):
    """WHERE."""

    this: Node


class Having(Node):
    """HAVING."""

    this: Node


class Qualify(Node):
    """QUALIFY."""

    this: Node


class GroupingSets(Node):
    """GROUPING SETS."""

    expressions: tuple[Node, ...]


class Rollup(Node):
    """ROLLUP."""

    expressions: tuple[Node, ...]


class Cube(Node):
    """CUBE."""

    expressions: tuple[Node, ...]


class Group(Node):
    """GROUP BY: expressions, ``GroupingSets``, ``Rollup``, ``Cube``; ``()`` is an empty ``Tuple``."""

    expressions: tuple[Node, ...]
    distinct: bool = False
    """GROUP BY DISTINCT: a set that occurs several times counts once"""


class PropertyEQ(Node):
    """``'key' = 'value'`` in a hint."""

    this: Node
    expression: Node


class HintCall(Word):
    """A hint with its name and what stands in its brackets: pairs, or names as ``Literal``."""

    expressions: tuple[Node, ...] = ()


class Hint(Node):
    """``/*+ .. */``."""

    expressions: tuple[HintCall, ...]
