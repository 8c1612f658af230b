"""Bound expressions over the columns of a row, which SQL text and Table API expressions become; and the columns
(``Field``, ``Schema``) that they read.

Programs write expressions a thousand levels deep: ``deep_calls`` raises Python's recursion limit while a tree is
walked, and ``Steps`` holds a deep expression as a flat list.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from millrace.relational.types import BooleanType, DataType
from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.relational.nodes import Rel


# From 3.11 on a call of Python takes nothing of the stack of C, so that only memory bounds the depth.
LIMIT = 50_000 if sys.version_info >= (3, 11) else 8_000
_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let calls go to ``LIMIT`` within this block. The limit is that of all threads: it is as before when the last one
    has left."""
    global _inside, _before
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, LIMIT))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_before)


# Columns

ROWTIME, PROCTIME = "ROWTIME", "PROCTIME"


class Field(Record):
    """A column of a node's result."""

    name: str
    type: DataType
    time: str | None = None
    """ROWTIME or PROCTIME for a time attribute"""

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + (f" *{self.time}*" if self.time else "")


Schema = tuple[Field, ...]


# Expressions


class Rex(Record):
    """Base of all expressions."""

    type: DataType

    @property
    def children(self) -> tuple[Rex, ...]:
        return ()

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        """This expression with other children, as many as it has."""
        return self


class Literal(Rex):
    """A constant in the form that Python has for its type: ``int``, ``Decimal``, ``datetime``, ``timedelta``, months as
    ``int``, ... None for NULL."""

    value: Any


class Ref(Rex):
    """Column ``index`` of the input, counted from 0."""

    index: int


class OuterRef(Rex):
    """Column ``index`` of the query around a subquery; ``depth`` 1 is the next one outside. Gone after
    decorrelation."""

    index: int
    depth: int = 1


class FieldAccess(Rex):
    """A field of a row value."""

    row: Rex
    name: str

    @property
    def children(self) -> tuple[Rex, ...]:
        return (self.row,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, row=children[0])


class Call(Rex):
    """A built-in function or operator by its name in the registry (``functions.registry``), e.g. ``+``, ``CASE``,
    ``CAST``, ``UPPER``. A CAST's target is ``type``. ``options`` are fixed words of its syntax, e.g.
    ``(("on_error", "NULL"),)`` of JSON_VALUE or ``(("unit", "HOUR"),)`` of EXTRACT."""

    function: str
    args: tuple[Rex, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def children(self) -> tuple[Rex, ...]:
        return self.args

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, args=children)

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)


class UdfCall(Rex):
    """A scalar function of the user."""

    function: Any
    """a ``UserDefinedScalarFunctionWrapper`` (``table.udf``). Functions are equal if they are one object, whatever
    their names"""
    name: str = ""
    args: tuple[Rex, ...] = ()
    vectorized: bool = False
    """takes and gives pandas.Series"""
    asynchronous: bool = False
    deterministic: bool = True

    @property
    def children(self) -> tuple[Rex, ...]:
        return self.args

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, args=children)


class Subquery(Rex):
    """A query inside an expression; a rule makes joins of them.

    ``kind`` is IN, EXISTS, SCALAR, or a comparison with all or any of the values, as ``> ALL``. ``operands`` are what
    is compared with the columns of the query.
    """

    kind: str
    plan: Rel
    operands: tuple[Rex, ...] = ()
    negated: bool = False

    @property
    def children(self) -> tuple[Rex, ...]:
        return self.operands

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, operands=children)


class AggCall(Record):
    """One aggregate: a built-in one by name, or a function of the user."""

    function: str
    args: tuple[Rex, ...]
    type: DataType
    distinct: bool = False
    filter: Rex | None = None
    """FILTER (WHERE ...)"""
    order: tuple[SortKey, ...] = ()
    """WITHIN GROUP (ORDER BY ...)"""
    options: tuple[tuple[str, Any], ...] = ()
    udf: Any = None
    """a ``UserDefinedAggregateFunctionWrapper`` in place of a built-in function"""

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    def inputs(self) -> Iterator[Rex]:
        """Every expression over the input's columns."""
        yield from self.args
        if self.filter is not None:
            yield self.filter
        for key in self.order:
            yield key.expression

    def map(self, change: Callable[[Rex], Rex]) -> AggCall:
        """This call with ``change`` applied to every expression over the input."""
        return replace(
            self,
            args=tuple(map(change, self.args)),
            filter=None if self.filter is None else change(self.filter),
            order=tuple(replace(key, expression=change(key.expression)) for key in self.order),
        )


class SortKey(Record):
    """One item of an ORDER BY. As in Flink NULL counts as smallest unless NULLS FIRST or LAST is written."""

    expression: Rex
    descending: bool = False
    nulls_first: bool = True


Distance: TypeAlias = int | float | Decimal


class Frame(Record):
    """ROWS or RANGE of an OVER window. A bound is how far it reaches back: None for UNBOUNDED, 0 for CURRENT ROW; rows
    for ROWS, for RANGE ms or so much of the number that the rows are ordered by. ``following`` is how far it reaches
    ahead."""

    rows: bool
    preceding: Distance | None
    following: Distance | None = 0


TRUE = Literal(BooleanType(False), True)


def walk(expression: Rex) -> Iterator[Rex]:
    """The expression and everything in it, outside first."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def rewrite(expression: Rex, change: Callable[[Rex], Rex | None]) -> Rex:
    """Replace parts: where ``change`` gives an expression it takes the place of the whole part, elsewhere the children
    are looked at."""
    changed = change(expression)
    if changed is not None:
        return changed
    children = expression.children
    if not children:
        return expression
    new = tuple(rewrite(child, change) for child in children)
    return expression if all(a is b for a, b in zip(new, children)) else expression.with_children(new)


def refs(expression: Rex) -> set[int]:
    """The columns that an expression reads."""
    return {part.index for part in walk(expression) if isinstance(part, Ref)}


def shift(expression: Rex, by: int, start: int = 0) -> Rex:
    """References from ``start`` on moved by ``by`` columns."""

    def moved(part: Rex) -> Rex | None:
        return replace(part, index=part.index + by) if isinstance(part, Ref) and part.index >= start else None

    return rewrite(expression, moved)


def remap(expression: Rex, places: dict[int, int] | Callable[[int], int]) -> Rex:
    """References to other places."""
    place = places.__getitem__ if isinstance(places, dict) else places

    def moved(part: Rex) -> Rex | None:
        return replace(part, index=place(part.index)) if isinstance(part, Ref) else None

    return rewrite(expression, moved)


def substitute(expression: Rex, columns: tuple[Rex, ...]) -> Rex:
    """References replaced by what computes those columns: merges two projections."""

    def put(part: Rex) -> Rex | None:
        return columns[part.index] if isinstance(part, Ref) else None

    return rewrite(expression, put)


def conjuncts(condition: Rex) -> list[Rex]:
    """The parts of a condition that are connected with AND."""
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for arg in condition.args for part in conjuncts(arg)]
    return [] if condition == TRUE else [condition]


def conjunction(parts: list[Rex]) -> Rex:
    """The parts connected with AND; TRUE for none."""
    if not parts:
        return TRUE
    if len(parts) == 1:
        return parts[0]
    nullable = any(part.type.is_nullable for part in parts)
    return Call(BooleanType(nullable), "AND", tuple(parts))


# Deep expressions as flat lists

STEPS = "$STEPS"


def deep(call: Call) -> Rex:
    """What was made into steps, as it was."""
    found = call.args[0]
    for step in call.option("steps"):
        found = step.with_children(tuple(_argument(child, found, call) for child in step.children))
    return found


def steps_text(call: Call, text: Callable[[Rex], str], step_text: Callable[[Rex, Callable[[Rex], str]], str]) -> str:
    """A call of ``STEPS`` as the expression that it was."""
    args = [text(arg) for arg in call.args]

    def part(child: Rex) -> str:
        return args[child.index] if isinstance(child, Ref) else text(child)

    for step in call.option("steps"):
        args[0] = step_text(step, part)
    return args[0]


def _argument(child: Rex, found: Rex, call: Call) -> Rex:
    if not isinstance(child, Ref):
        return child
    return found if child.index == 0 else call.args[child.index]
