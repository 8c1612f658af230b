"""Nodes of calls: functions with their clauses, JSON functions (options that were not given have Flink's default), and
calls that only the Table API makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from millrace.relational.nodes import Rel
from millrace.relational.types import DataType
from millrace.table.sql.nodes.queries import Identifier, Node, Order, TypeName, Where, Word

# Calls


def _none_made(args: Sequence[Node]) -> Node:
    raise NotImplementedError


class Call(Word):
    """A call by the name that the text has. It is not renamed, and no default is added."""

    expressions: tuple[Node, ...] = ()


class BuiltIn(Call):
    """An operator, or a function that the Table API calls, by its name in the registry: no function of the user can
    take its place. ``shown``: how Flink prints it."""

    shown: str = ""


class GivenCall(Call):
    """A call of a function of the user that a program gives: a wrapper of ``table.udf``."""

    function: Any = None


class DefinedCall(Call):
    """A call by the name of a definition that is none in SQL (``equals``): what the Table API has for it, unless a
    temporary system function of the user has this name."""

    make: Callable[[Sequence[Node]], Node] = field(default=_none_made, compare=False)

    @property
    def made(self) -> Node:
        """What stands for the call."""
        return self.make(self.expressions)


class Kwarg(Node):
    """``name => value``."""

    this: Identifier
    expression: Node


class TableArgument(Node):
    """TABLE t PARTITION BY .. ORDER BY .. as an argument."""

    this: Node
    partition_by: tuple[Node, ...] = ()
    order: Order | None = None


class ModelArgument(Node):
    """MODEL m as an argument."""

    this: Node


class Descriptor(Node):
    """DESCRIPTOR(a, b) as an argument."""

    expressions: tuple[Identifier, ...]


class IgnoreNulls(Node):
    """A call with IGNORE NULLS."""

    this: Node


class RespectNulls(Node):
    """A call with RESPECT NULLS."""

    this: Node


class WithinGroup(Node):
    """A call with WITHIN GROUP."""

    this: Node
    expression: Order


class Filter(Node):
    """A call with FILTER."""

    this: Node
    expression: Where


class Final(Node):
    """FINAL before a call, in MATCH_RECOGNIZE."""

    this: Node


class Running(Node):
    """RUNNING before a call, in MATCH_RECOGNIZE."""

    this: Node


# JSON functions


class JsonValue(Node):
    """JSON_VALUE. ``on_empty``, ``on_error``: NULL, ERROR, DEFAULT."""

    this: Node
    path: Node
    returning: TypeName | None = None
    on_empty: str = "NULL"
    empty_default: Node | None = None
    on_error: str = "NULL"
    error_default: Node | None = None


class JsonQuery(Node):
    """JSON_QUERY. ``wrapper``: WITHOUT, CONDITIONAL, UNCONDITIONAL."""

    this: Node
    path: Node
    returning: TypeName | None = None
    wrapper: str = "WITHOUT"
    on_empty: str = "NULL"
    on_error: str = "NULL"


class JsonExists(Node):
    """JSON_EXISTS."""

    this: Node
    path: Node
    on_error: str | None = "FALSE"


class JsonEntry(Node):
    """A key and its value."""

    this: Node
    expression: Node


class JsonObject(Node):
    """JSON_OBJECT. ``on_null``: NULL or ABSENT."""

    expressions: tuple[JsonEntry, ...] = ()
    on_null: str = "NULL"


class JsonObjectAgg(Node):
    """JSON_OBJECTAGG."""

    this: JsonEntry
    on_null: str = "NULL"


class JsonArray(Node):
    """JSON_ARRAY."""

    expressions: tuple[Node, ...] = ()
    on_null: str = "ABSENT"


class JsonArrayAgg(Node):
    """JSON_ARRAYAGG."""

    this: Node
    on_null: str = "ABSENT"


# The Table API


class Constant(Node):
    """A value of Python. ``type`` None: what the value says."""

    value: Any
    type: DataType | None = None


class Position(Node):
    """A column by its place: of a star, or one that was computed for an aggregate. ``shown``: how it is printed."""

    index: int
    shown: str = ""


class WholeRow(Node):
    """All columns as one value of a ROW type, named as the columns."""

    expressions: tuple[Position, ...]


class SqlText(Node):
    """An expression in SQL that is read when its columns are known."""

    text: str


class ResolvedQuery(Node):
    """A query whose plan is known already: a ``Table``."""

    plan: Rel


class WindowProperty(Node):
    """START, END, ROWTIME or PROCTIME of a group window; the last two also mark a column as time attribute."""

    this: Node
    property: str


class Range(Node):
    """Columns from one to another, by name or by position from 1."""

    start: str | int
    end: str | int


class Columns(Node):
    """Some columns, or all but these: names, positions from 1, ranges."""

    expressions: tuple[Node, ...]
    without: bool = False


class RowCount(Node):
    """A number of rows: the size of a window."""

    rows: int
