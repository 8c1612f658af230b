"""Nodes of operators and queries: operators (IN, EXISTS, ANY and ALL hold queries), items of FROM, SELECT and set
operations, MATCH_RECOGNIZE; and the names and options that several kinds of node share."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from millrace.table.sql.nodes.calls import Distinct, Window
from millrace.table.sql.nodes.names_and_clauses import (
    Alias,
    Column,
    Dot,
    Group,
    Having,
    Hint,
    HintCall,
    Identifier,
    Limit,
    Literal,
    Node,
    Offset,
    Order,
    PropertyEQ,
    Qualify,
    Star,
    TableAlias,
    TypeName,
    Var,
    Where,
)

if TYPE_CHECKING:
    from millrace.table.sql.nodes.calls import ResolvedQuery


# Operators


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


# FROM


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
    """the percentage, as the text has it"""
    seed: int | None = None


class Joined(Node):
    """A relation with joins of its own: a join in brackets, or a RIGHT or FULL join after a comma."""

    this: Node
    joins: tuple[Join, ...]


# Queries


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


# MATCH_RECOGNIZE


class AfterMatch(Node):
    """AFTER MATCH: where the search goes on (``mode``), and the variable that TO FIRST and TO LAST name."""

    mode: str
    target: Identifier | None = None


class PatternVariable(Node):
    """A variable of the pattern."""

    this: Identifier


class PatternSequence(Node):
    """One after the other."""

    expressions: tuple[Node, ...]


class PatternAlternation(Node):
    """One of these."""

    expressions: tuple[Node, ...]


class PatternPermutation(Node):
    """PERMUTE: all of these patterns, in any order."""

    expressions: tuple[Node, ...]


class PatternQuantifier(Node):
    """A pattern at least ``low`` and at most ``high`` times."""

    this: Node
    low: int
    high: int | None = None
    reluctant: bool = False
    without_low: bool = False
    """written as ``{,3}``"""


class PatternExclusion(Node):
    """What is matched and not given out."""

    this: Node


class MatchRecognize(Node):
    """A search for patterns in the rows of a relation. ``anchors``: a subset of ``^$``."""

    this: Node
    pattern: Node
    define: tuple[Alias, ...]
    partition_by: tuple[Node, ...] = ()
    order: Order | None = None
    measures: tuple[Alias, ...] = ()
    rows: str = "ONE ROW PER MATCH"
    empty: str = ""
    """what follows ALL ROWS PER MATCH: SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS; empty: nothing"""
    after: AfterMatch | None = None
    anchors: str = ""
    within: Node | None = None
    subsets: tuple[Alias, ...] = ()
    alias: TableAlias | None = None


# Names and options of several nodes

Relation: TypeAlias = "Table | Lateral | TableFunction | Unnest | Subquery | MatchRecognize"
"""an item of FROM that may have an alias"""


def name_of(node: Node) -> str:
    """The name or the text that a node consists of or begins with; an empty text if there is none."""
    if isinstance(node, Star):
        return node.name
    first = getattr(node, "this", "")
    if isinstance(first, Node):
        return name_of(first) if isinstance(first, (Identifier, Literal, Var, Star)) else ""
    return str(first)


def table_path(table: Table) -> tuple[str, ...]:
    """The names of a table as written: one to three."""
    return tuple(part.name for part in (table.catalog, table.db, table.this) if part)


def column_parts(column: Column | Dot) -> tuple[Identifier | Star, ...]:
    """The names of ``a.b.c`` in their order.

    :raises ValueError: a field of something that is not a name.
    """
    if isinstance(column, Dot):
        if not isinstance(column.this, (Column, Dot)):
            raise ValueError(f"{column.this!r} is not a name")
        assert isinstance(column.expression, (Identifier, Star))
        return (*column_parts(column.this), column.expression)
    return tuple(part for part in (column.catalog, column.db, column.table, column.this) if part is not None)


def call_path(call: Node) -> tuple[str, ...]:
    """The names of ``cat.db.f`` in their order, of a call or of what qualifies one."""
    if isinstance(call, Dot):
        return (*_dotted(call.this), *call_path(call.expression))
    return (name_of(call),)


def _dotted(node: Node) -> tuple[str, ...]:
    return (*_dotted(node.this), name_of(node.expression)) if isinstance(node, Dot) else (name_of(node),)


def hint_options(hint: HintCall) -> dict[str, str]:
    """The keys and values of OPTIONS, STATE_TTL, LOOKUP."""
    pairs = (part for part in hint.expressions if isinstance(part, PropertyEQ))
    return {name_of(pair.this): name_of(pair.expression) for pair in pairs}


def hint_names(hint: HintCall) -> tuple[str, ...]:
    """The tables that BROADCAST and its like name."""
    return tuple(name_of(part) for part in hint.expressions if not isinstance(part, PropertyEQ))
