"""Operators, calls of functions, their arguments, and the clauses that follow one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from millrace.table.sql.nodes.base import Node, Word
from millrace.table.sql.nodes.clauses import Order, Where
from millrace.table.sql.nodes.names import Identifier


def _none_made(args: Sequence[Node]) -> Node:
    raise NotImplementedError


class Call(Word):
    """A call by the name as it is written. Nothing is renamed, no default is added."""

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


class Distinct(Node):
    """All arguments of a call after DISTINCT; in a SELECT without any."""

    expressions: tuple[Node, ...] = ()


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


class Final(Node):
    """FINAL before a call, in MATCH_RECOGNIZE."""

    this: Node


class Running(Node):
    """RUNNING before a call, in MATCH_RECOGNIZE."""

    this: Node
