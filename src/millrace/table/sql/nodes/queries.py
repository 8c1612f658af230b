"""The base of all syntax trees, ``Node`` (its position in the text, its children, and how to make a changed copy), with
names, constants and clauses; nodes of operators and queries: operators (IN, EXISTS, ANY and ALL hold queries), items
of FROM, SELECT and set operations, MATCH_RECOGNIZE; and the names and options that several kinds of node share.
"""

from __future__ import annotations

import typing
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from millrace.relational.types import DataType, YearMonthIntervalType
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.table.sql.nodes.calls import ResolvedQuery
    from millrace.table.sql.text import Position


# Names, constants and clauses

N = TypeVar("N", bound="Node")


class Node(Record):
    """A node of a syntax tree. Nodes are equal if all their fields but the position are."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The nodes directly below it, in the order of its fields."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))

    def walk(self) -> Iterator[Node]:
        """This node and all nodes below it, level by level."""
        waiting: deque[Node] = deque([self])
        while waiting:
            found = waiting.popleft()
            yield found
            waiting.extend(found.children())

    def find_all(self, kind: type[N]) -> Iterator[N]:
        return (each for each in self.walk() if isinstance(each, kind))

    def rebuilt(self: N, change: Callable[[Node], Node]) -> N:
        """A copy of this node in which ``change`` has replaced each of its children; the node itself if ``change``
        returns every child unchanged."""
        changed: dict[str, typing.Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            new = _changed(value, change)
            if new is not value:
                changed[each.name] = new
        return replace(self, **changed) if changed else self

    def rewritten(self, change: Callable[[Node], Node | None]) -> Node:
        """This tree with nodes replaced, from the root down.

        :param change: returns the node that replaces a node, or None to leave it; it is then called for the node's
            children. It is not called for the children of a replaced node.
        """
        changed = change(self)
        return self.rebuilt(lambda part: part.rewritten(change)) if changed is None else changed


class Word(Node):
    """A node that begins with a text, which is its name."""

    this: str

    @property
    def name(self) -> str:
        return self.this


def _changed(value: typing.Any, change: Callable[[Node], Node]) -> typing.Any:
    if isinstance(value, Node):
        return change(value)
    if not isinstance(value, tuple):
        return value
    new = tuple(change(item) if isinstance(item, Node) else item for item in value)
    return value if all(one is other for one, other in zip(value, new)) else new


# Names


class Identifier(Word):
    """A name. ``quoted`` is how it was written, and means nothing."""

    quoted: bool = field(default=False, compare=False)


class Star(Node):
    """``*``."""

    @property
    def name(self) -> str:
        return "*"


class Var(Word):
    """A word that is no name: UNKNOWN, DEFAULT, a unit of time."""


class Column(Node):
    """Up to four names with dots between them; the last may be a star. They may be fields of rows."""

    this: Identifier | Star
    table: Identifier | None = None
    db: Identifier | None = None
    catalog: Identifier | None = None

    @property
    def name(self) -> str:
        return self.this.name

    @staticmethod
    def named(name: str) -> Column:
        """The column with this name, whatever characters are in it."""
        return Column(Identifier(name))


class Dot(Node):
    """A field of what is not a name, or a name before a call: ``f(x).a``, ``db.f(x)``. The Table API also has fields by
    their number, a ``Literal`` from 0, and the star for all of them."""

    this: Node
    expression: Node

    @staticmethod
    def between(*parts: Node) -> Node:
        """The parts with dots between them; one alone has none."""
        front, *rest = parts
        for part in rest:
            front = Dot(front, part)
        return front


# Constants


class Literal(Word):
    """A number, as the text has it, or a string."""

    is_string: bool

    @staticmethod
    def string(text: str) -> Literal:
        return Literal(text, True)

    @staticmethod
    def number(text: str | int) -> Literal:
        return Literal(str(text), False)


class HexString(Word):
    """x'1F'."""


class Null(Node):
    """NULL."""


class Boolean(Node):
    """TRUE, FALSE."""

    this: bool


class TypedLiteral(Node):
    """DATE '2024-01-31', TIME '..', TIMESTAMP '..'."""

    kind: str
    this: str


class IntervalLiteral(Node):
    """INTERVAL '1 02:00' DAY TO MINUTE. ``value``: microseconds, or months if ``data_type`` counts months."""

    this: Literal
    unit: str
    data_type: DataType
    value: int
    negative: bool = False

    @property
    def in_months(self) -> bool:
        return isinstance(self.data_type, YearMonthIntervalType)


class TypeName(Node):
    """A data type in a cast."""

    data_type: DataType


# Clauses


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


class Distinct(Node):
    """All arguments of a call after DISTINCT; in a SELECT without any."""

    expressions: tuple[Node, ...] = ()


class WindowSpec(Node):
    """ROWS or RANGE. Bounds are UNBOUNDED, CURRENT ROW or expressions; sides PRECEDING, FOLLOWING or None."""

    kind: str
    start: Node | str
    end: Node | str
    start_side: str | None = None
    end_side: str | None = None


class Window(Node):
    """A call with OVER, or a window of the WINDOW clause. ``alias``: the named window that it refers to."""

    this: Node
    partition_by: tuple[Node, ...] = ()
    order: Order | None = None
    spec: WindowSpec | None = None
    alias: Identifier | None = None


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
