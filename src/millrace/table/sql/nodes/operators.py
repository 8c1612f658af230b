"""Operators with their operands."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.literals import TypeName


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operator between two operands."""

    this: Node
    expression: Node


@dataclass(frozen=True, slots=True)
class And(Binary):
    """AND."""


@dataclass(frozen=True, slots=True)
class Or(Binary):
    """OR."""


@dataclass(frozen=True, slots=True)
class EQ(Binary):
    """``=``."""


@dataclass(frozen=True, slots=True)
class NEQ(Binary):
    """``<>``."""


@dataclass(frozen=True, slots=True)
class LT(Binary):
    """``<``."""


@dataclass(frozen=True, slots=True)
class LTE(Binary):
    """``<=``."""


@dataclass(frozen=True, slots=True)
class GT(Binary):
    """``>``."""


@dataclass(frozen=True, slots=True)
class GTE(Binary):
    """``>=``."""


@dataclass(frozen=True, slots=True)
class Add(Binary):
    """``+``."""


@dataclass(frozen=True, slots=True)
class Sub(Binary):
    """``-``."""


@dataclass(frozen=True, slots=True)
class Mul(Binary):
    """``*``."""


@dataclass(frozen=True, slots=True)
class Div(Binary):
    """``/``."""


@dataclass(frozen=True, slots=True)
class Mod(Binary):
    """``%``."""


@dataclass(frozen=True, slots=True)
class DPipe(Binary):
    """``||``."""


@dataclass(frozen=True, slots=True)
class Is(Binary):
    """IS NULL, IS TRUE, IS FALSE, IS UNKNOWN."""


@dataclass(frozen=True, slots=True)
class NullSafeEQ(Binary):
    """IS NOT DISTINCT FROM."""


@dataclass(frozen=True, slots=True)
class NullSafeNEQ(Binary):
    """IS DISTINCT FROM."""


@dataclass(frozen=True, slots=True)
class Like(Binary):
    """LIKE."""


@dataclass(frozen=True, slots=True)
class SimilarTo(Binary):
    """SIMILAR TO."""


@dataclass(frozen=True, slots=True)
class Escape(Binary):
    """LIKE or SIMILAR TO, with its ESCAPE."""


@dataclass(frozen=True, slots=True)
class Not(Node):
    """NOT; also of every negated predicate."""

    this: Node


@dataclass(frozen=True, slots=True)
class Neg(Node):
    """A minus before an operand."""

    this: Node


@dataclass(frozen=True, slots=True)
class Paren(Node):
    """Brackets round an expression."""

    this: Node


@dataclass(frozen=True, slots=True)
class Between(Node):
    """``this`` BETWEEN ``low`` AND ``high``."""

    this: Node
    low: Node
    high: Node
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class In(Node):
    """IN with values, or with a query in brackets."""

    this: Node
    expressions: tuple[Node, ...] = ()
    query: Node | None = None


@dataclass(frozen=True, slots=True)
class All(Node):
    """ALL of a query, after a comparison."""

    this: Node


@dataclass(frozen=True, slots=True)
class Any(Node):
    """ANY or SOME of a query, after a comparison."""

    this: Node


@dataclass(frozen=True, slots=True)
class Exists(Node):
    """EXISTS of a query, which is not in a ``Subquery``."""

    this: Node


@dataclass(frozen=True, slots=True)
class IsJson(Node):
    """x IS JSON [VALUE | SCALAR | ARRAY | OBJECT]."""

    this: Node
    kind: str


@dataclass(frozen=True, slots=True)
class If(Node):
    """WHEN and THEN of a CASE."""

    this: Node
    true: Node


@dataclass(frozen=True, slots=True)
class Case(Node):
    """CASE, with or without an operand."""

    this: Node | None = None
    ifs: tuple[If, ...] = ()
    default: Node | None = None


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """CAST(this AS to)."""

    this: Node
    to: TypeName


@dataclass(frozen=True, slots=True)
class TryCast(Node):
    """TRY_CAST(this AS to)."""

    this: Node
    to: TypeName


@dataclass(frozen=True, slots=True)
class Bracket(Node):
    """An element of an array (from 1), a value of a map."""

    this: Node
    expressions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """``(a, b)``."""

    expressions: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Array(Node):
    """ARRAY[a, b]."""

    expressions: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class MapConstructor(Node):
    """MAP[k1, v1, k2, v2]."""

    expressions: tuple[Node, ...] = ()
