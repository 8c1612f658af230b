"""The base of all syntax trees: ``Node`` (its position in the text, its children, and how to make a changed copy),
names, constants, and the clauses of queries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.relational.types import DataType, YearMonthIntervalType
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.table.sql.text import Position


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
        changed: dict[str, Any] = {}
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


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
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
