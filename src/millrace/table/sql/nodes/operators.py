"""Operators that are more than a function of their operands; all others are ``BuiltIn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.literals import TypeName

if TYPE_CHECKING:
    from millrace.table.sql.nodes.programs import ResolvedQuery
    from millrace.table.sql.nodes.queries import Query


class Not(Node):
    """NOT; also of every negated predicate but IS."""

    this: Node


class Neg(Node):
    """A minus before an operand."""

    this: Node


class Paren(Node):
    """Brackets round an expression."""

    this: Node


class Between(Node):
    """``this`` BETWEEN ``low`` AND ``high``."""

    this: Node
    low: Node
    high: Node
    symmetric: bool = False


class In(Node):
    """IN with values, or with a query in brackets."""

    this: Node
    expressions: tuple[Node, ...] = ()
    query: Query | ResolvedQuery | None = None


class All(Node):
    """ALL of a query in brackets, or of values, after a comparison."""

    expressions: tuple[Node, ...] = ()
    query: Query | ResolvedQuery | None = None


class Any(Node):
    """ANY or SOME of a query in brackets, or of values, after a comparison."""

    expressions: tuple[Node, ...] = ()
    query: Query | ResolvedQuery | None = None


class Exists(Node):
    """EXISTS of a query, which is not in a ``Subquery``."""

    this: Query


class If(Node):
    """WHEN and THEN of a CASE."""

    this: Node
    true: Node


class Case(Node):
    """CASE, with or without an operand."""

    this: Node | None = None
    ifs: tuple[If, ...] = ()
    default: Node | None = None


class Cast(Node):
    """CAST(this AS to)."""

    this: Node
    to: TypeName


class TryCast(Node):
    """TRY_CAST(this AS to)."""

    this: Node
    to: TypeName


class Tuple(Node):
    """``(a, b)``."""

    expressions: tuple[Node, ...] = ()
