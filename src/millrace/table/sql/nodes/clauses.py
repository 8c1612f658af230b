"""Clauses of queries."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.table.sql.nodes.base import Node, Word
from millrace.table.sql.nodes.names import Identifier


@dataclass(frozen=True, slots=True)
class Alias(Node):
    """What has a name: an item of SELECT, a measure, a definition, a subset. ``others``: names of more columns, which
    the Table API gives to functions that make several."""

    this: Node
    alias: Identifier
    others: tuple[Identifier, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.this for each in (self.alias, *self.others))


@dataclass(frozen=True, slots=True)
class TableAlias(Node):
    """The name of a relation, and those of its columns."""

    this: Identifier
    columns: tuple[Identifier, ...] = ()

    @property
    def name(self) -> str:
        return self.this.name


@dataclass(frozen=True, slots=True)
class Ordered(Node):
    """An item of ORDER BY. ``nulls_first`` is None when it was not said."""

    this: Node
    desc: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Order(Node):
    """ORDER BY."""

    expressions: tuple[Ordered, ...]


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """LIMIT, FETCH FIRST."""

    expression: Node


@dataclass(frozen=True, slots=True)
class Offset(Node):
    """OFFSET."""

    expression: Node


@dataclass(frozen=True, slots=True)
class Where(Node):
    """WHERE."""

    this: Node


@dataclass(frozen=True, slots=True)
class Having(Node):
    """HAVING."""

    this: Node


@dataclass(frozen=True, slots=True)
class Qualify(Node):
    """QUALIFY."""

    this: Node


@dataclass(frozen=True, slots=True)
class GroupingSets(Node):
    """GROUPING SETS."""

    expressions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Rollup(Node):
    """ROLLUP."""

    expressions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cube(Node):
    """CUBE."""

    expressions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """GROUP BY: expressions, ``GroupingSets``, ``Rollup``, ``Cube``; ``()`` is an empty ``Tuple``."""

    expressions: tuple[Node, ...]
    distinct: bool = False
    """GROUP BY DISTINCT: a set that occurs several times counts once"""


@dataclass(frozen=True, slots=True)
class PropertyEQ(Node):
    """``'key' = 'value'`` in a hint."""

    this: Node
    expression: Node


@dataclass(frozen=True, slots=True)
class HintCall(Word):
    """A hint with its name and what stands in its brackets: pairs, or names as ``Literal``."""

    expressions: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Hint(Node):
    """``/*+ .. */``."""

    expressions: tuple[HintCall, ...]
