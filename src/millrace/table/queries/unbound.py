"""Expressions of the Table API before their columns are known: what ``Expression`` is a handle on.

Frozen trees. ``binding`` turns them into ``relational.rex`` against the columns of a table; ``expression_text`` prints
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from millrace.relational.types import DataType


@dataclass(frozen=True)
class Node:
    """Base of all parts of an expression."""

    @property
    def children(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple) and each.name in ("args", "items"):
                found += [part for part in value if isinstance(part, Node)]
        return tuple(found)


@dataclass(frozen=True)
class Column(Node):
    """A column by name; ``*`` stands for all."""

    name: str


@dataclass(frozen=True)
class Literal(Node):
    """A constant. ``type`` None: what its value says."""

    value: Any
    type: DataType | None = None


@dataclass(frozen=True)
class Apply(Node):
    """A built-in scalar function by its name in the registry."""

    function: str
    args: tuple[Node, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    shown: str = ""
    """the name that Flink prints"""
    shown_args: tuple[Any, ...] | None = None
    """what Flink prints between the brackets where that is not ``args``: nodes and texts"""


@dataclass(frozen=True)
class Aggregation(Node):
    """A built-in aggregate function by its name in the registry."""

    function: str
    args: tuple[Node, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    shown: str = ""
    shown_args: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Distinct(Node):
    """An aggregate over different values only."""

    child: Node


@dataclass(frozen=True)
class UserCall(Node):
    """A function of the user: a wrapper of ``table.udf``."""

    function: Any
    args: tuple[Node, ...] = ()


@dataclass(frozen=True)
class WholeRow(Node):
    """All columns as one value of a ROW type, named as the columns."""

    args: tuple[Node, ...]


@dataclass(frozen=True)
class NamedCall(Node):
    """A function by the name that a program gives: looked up when the expression is bound."""

    name: str
    args: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Cast(Node):
    child: Node
    type: DataType
    safe: bool = False
    """TRY_CAST: NULL in place of an error"""


@dataclass(frozen=True)
class Alias(Node):
    child: Node
    names: tuple[str, ...]


@dataclass(frozen=True)
class Ordered(Node):
    """A key of ``order_by``."""

    child: Node
    descending: bool


@dataclass(frozen=True)
class OverCall(Node):
    """An aggregate over the over window of that alias."""

    child: Node
    window: Node


@dataclass(frozen=True)
class Get(Node):
    """A field of a row by name or position."""

    child: Node
    key: str | int


@dataclass(frozen=True)
class Flatten(Node):
    """All fields of a row as columns."""

    child: Node


@dataclass(frozen=True)
class WindowProperty(Node):
    """START, END, ROWTIME or PROCTIME of a group window; the last two also mark a column as time attribute."""

    child: Node
    property: str


@dataclass(frozen=True)
class Range(Node):
    """Columns from one to another, by name or by position from 1."""

    start: str | int
    end: str | int


@dataclass(frozen=True)
class Columns(Node):
    """Some columns (``with_columns``), or all but these."""

    items: tuple[Node, ...]
    without: bool = False


@dataclass(frozen=True)
class InTable(Node):
    """Whether a value is in the one column of a table."""

    child: Node
    table: Any


@dataclass(frozen=True)
class Sql(Node):
    """An expression written in SQL."""

    text: str


@dataclass(frozen=True)
class Symbol(Node):
    """UNBOUNDED_ROW and its like, and the names that ``descriptor`` gives."""

    name: str


@dataclass(frozen=True)
class Named(Node):
    """A named argument of a function."""

    name: str
    child: Node


@dataclass(frozen=True)
class RowCount(Node):
    """A number of rows: the size of a window."""

    rows: int


@dataclass(frozen=True)
class Bound(Node):
    """What is bound already: a column that a rewriting put in place of an aggregate or window function."""

    index: int
    shown: str = ""


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it, outside first."""
    yield node
    for child in node.children:
        yield from walk(child)


def rewrite(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """Replace parts: where ``change`` gives a node it takes the place of the whole part, elsewhere the children are
    looked at."""
    changed = change(node)
    if changed is not None:
        return changed
    new: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            new[each.name] = rewrite(value, change)
        elif isinstance(value, tuple) and each.name in ("args", "items"):
            new[each.name] = tuple(rewrite(part, change) if isinstance(part, Node) else part for part in value)
    return replace(node, **new) if new else node
