"""Bound expressions over the columns of a row, which SQL text and Table API expressions become; the columns (``Field``,
``Schema``) that they read; patterns of MATCH_RECOGNIZE and the expressions that only it has; and expressions as text.

Programs write expressions a thousand levels deep: ``deep_calls`` raises Python's recursion limit while a tree is
walked, and ``Steps`` holds a deep expression as a flat list.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from millrace.relational.types import BooleanType, DataType, NullType
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


# -- patterns ---------------------------------------------------------------------------------------------------------


class Pattern(Record):
    """Base of all parts of a pattern."""

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return ()


class Variable(Pattern):
    """One row that its definition takes."""

    name: str

    def __str__(self) -> str:
        return self.name


class _Several(Pattern):
    items: tuple[Pattern, ...]

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.items


class Concatenation(_Several):
    """One after the other. Without items it takes no row."""

    def __str__(self) -> str:
        return " ".join(_in_brackets(each, Concatenation, Alternation) for each in self.items) or "()"


class Alternation(_Several):
    """One of these; the first one that fits is preferred."""

    def __str__(self) -> str:
        return " | ".join(_in_brackets(each, Alternation) for each in self.items)


class Permutation(_Several):
    """PERMUTE: all of these patterns in any order; the order in the text is preferred, then the order of their
    positions."""

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(map(str, self.items))})"


class _Around(Pattern):
    inner: Pattern

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)


class Exclusion(_Around):
    """Rows that are a part of the match, and are not given out by ALL ROWS PER MATCH."""

    def __str__(self) -> str:
        return f"{{- {self.inner} -}}"


class Repetition(_Around):
    """A pattern from ``low`` to ``high`` times (None: any number): as often as possible, or as rarely if it is
    reluctant."""

    low: int
    high: int | None
    reluctant: bool = False

    def __str__(self) -> str:
        inner = _in_brackets(self.inner, Concatenation, Alternation, Repetition)
        return f"{inner}{_QUANTIFIERS.get((self.low, self.high)) or self._bounds()}{'?' * self.reluctant}"

    def _bounds(self) -> str:
        if self.low == self.high:
            return f"{{{self.low}}}"
        return f"{{{self.low},{'' if self.high is None else self.high}}}"


_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def _in_brackets(part: Pattern, *kinds: type[Pattern]) -> str:
    text = str(part)
    return f"({text})" if isinstance(part, kinds) and text != "()" else text


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, outside first."""
    yield pattern
    for each in pattern.parts:
        yield from parts_of(each)


def variables_of(pattern: Pattern) -> list[str]:
    """The variables in the order in which they are written, each once."""
    return list(dict.fromkeys(each.name for each in parts_of(pattern) if isinstance(each, Variable)))


# -- values of a match ------------------------------------------------------------------------------------------------


class MatchPart(Rex):
    """Base of what depends on the rows of a match. While it is matched, and in RUNNING measures, these are the rows so
    far with the one that is looked at; else all."""


class Navigation(MatchPart):
    """FIRST, LAST, PREV, NEXT: a value of one row of a match. That row is the first or last one of a variable (or of
    all rows), moved by ``offset`` rows of the variable, then by ``shift`` rows of the partition.

    NULL if there is no such row.
    """

    expression: Rex
    """over the columns of that row; or a ``Classifier``: the variable that has it"""
    variable: str | None = None
    """or a subset; None: all rows of the match"""
    first: bool = False
    offset: int = 0
    """how many rows after the first, or before the last"""
    shift: int = 0
    """PREV (below 0) and NEXT: how many rows on, within the partition"""
    final: bool = False

    @property
    def children(self) -> tuple[Rex, ...]:
        return (self.expression,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, expression=children[0])

    @property
    def is_current(self) -> bool:
        """Whether the row is the current one, or at a fixed distance from it."""
        return self.variable is None and not self.first and self.offset == 0 and not self.final


class MatchAggregate(MatchPart):
    """An aggregate over the rows that a variable has, or over all."""

    call: AggCall
    variable: str | None = None
    final: bool = False

    @property
    def children(self) -> tuple[Rex, ...]:
        return tuple(self.call.inputs())

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        given = iter(children)
        return replace(self, call=self.call.map(lambda _: next(given)))


class Classifier(MatchPart):
    """The variable that the last row has, or the last row of a subset."""

    variable: str | None = None
    final: bool = False


class MatchNumber(MatchPart):
    """The number of the match in its partition, from 1 on."""


class MatchRowtime(MatchPart):
    """The time of the last row of the match; of an empty one that of the row where it was found."""

    time: Rex

    @property
    def children(self) -> tuple[Rex, ...]:
        return (self.time,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, time=children[0])


# -- text -------------------------------------------------------------------------------------------------------------

_INFIX = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE", "SIMILAR TO"}


def rex_text(expression: Rex, columns: Schema) -> str:
    """An expression with the names of the columns that it reads; ``name$index`` where a name is not unique."""
    names = _labels(columns)

    def text(part: Rex) -> str:
        if isinstance(part, Ref):
            return names[part.index] if part.index < len(names) else f"${part.index}"
        if isinstance(part, OuterRef):
            return f"outer{part.depth if part.depth > 1 else ''}.${part.index}"
        if isinstance(part, Literal):
            return literal_text(part)
        if isinstance(part, FieldAccess):
            return f"{text(part.row)}.{part.name}"
        if isinstance(part, Subquery):
            operands = ", ".join(map(text, part.operands))
            return f"{'NOT ' if part.negated else ''}{part.kind}({operands})"
        if isinstance(part, UdfCall):
            return f"{part.name}({', '.join(map(text, part.args))})"
        if isinstance(part, Call):
            return _call_text(part, text)
        if isinstance(part, MatchPart):
            return _match_text(part, text, columns)
        return type(part).__name__

    return text(expression)


def literal_text(literal: Literal) -> str:
    """A constant as SQL writes it, as far as Python's forms allow."""
    value = literal.value
    if value is None:
        return "NULL" if isinstance(literal.type, NullType) else f"NULL:{literal.type.sql()}"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (int, float)):
        return str(value)
    return f"{value}:{literal.type.sql()}"


def _call_text(call: Call, text: Callable[[Rex], str]) -> str:
    if call.function == STEPS:
        return steps_text(call, text, _step_text)
    args = [text(arg) for arg in call.args]
    options = "".join(f", {name}={value}" for name, value in call.options)
    if call.function in ("CAST", "TRY_CAST"):
        return f"{call.function}({args[0]} AS {call.type})"
    many = call.function in ("AND", "OR")
    if call.function in _INFIX and (len(args) == 2 or (many and len(args) > 2)) and not options:
        return "(" + f" {call.function} ".join(args) + ")"
    return f"{call.function}({', '.join(args)}{options})"


def _step_text(step: Rex, text: Callable[[Rex], str]) -> str:
    return f"{text(step.row)}.{step.name}" if isinstance(step, FieldAccess) else _call_text(_as_call(step), text)


def _as_call(step: Rex) -> Call:
    assert isinstance(step, Call)
    return step


def _match_text(part: MatchPart, text: Callable[[Rex], str], columns: Schema) -> str:
    """A value of the rows of a match."""
    if isinstance(part, MatchNumber):
        return "MATCH_NUMBER()"
    if isinstance(part, MatchRowtime):
        return f"MATCH_ROWTIME({text(part.time)})"
    if isinstance(part, MatchAggregate):
        over = "" if part.variable is None else f" OF {part.variable}"
        return f"{'FINAL ' * part.final}{agg_text(part.call, columns)}{over}"
    if isinstance(part, Classifier):
        return f"{'FINAL ' * part.final}CLASSIFIER({part.variable or ''})"
    assert isinstance(part, Navigation)
    value = text(part.expression)
    if part.variable is not None:
        value = f"{part.variable}.{value}" if isinstance(part.expression, Ref) else f"{value} OF {part.variable}"
    found = f"{'FIRST' if part.first else 'LAST'}({value}, {part.offset})"
    if part.shift:
        found = f"{'PREV' if part.shift < 0 else 'NEXT'}({found}, {abs(part.shift)})"
    return f"{'FINAL ' * part.final}{found}"


def agg_text(call: AggCall, columns: Schema) -> str:
    """An aggregate with all its clauses."""
    args = ", ".join(rex_text(arg, columns) for arg in call.args) or ("*" if call.function == "COUNT" else "")
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.order:
        text += f" WITHIN GROUP ({keys_text(call.order, columns)})"
    if call.filter is not None:
        text += f" FILTER ({rex_text(call.filter, columns)})"
    return text


def keys_text(keys: Sequence[SortKey], columns: Schema) -> str:
    """Items of an ORDER BY; NULLS FIRST or LAST only where it is not what the direction implies."""
    parts = []
    for key in keys:
        text = rex_text(key.expression, columns) + (" DESC" if key.descending else "")
        if key.nulls_first == key.descending:
            text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
        parts.append(text)
    return ", ".join(parts)


def frame_text(frame: Frame) -> str:
    """A frame of an OVER window."""

    def bound(value: Distance | None, side: str) -> str:
        return "CURRENT ROW" if value == 0 else f"{'UNBOUNDED' if value is None else value} {side}"

    ends = f"{bound(frame.preceding, 'PRECEDING')} AND {bound(frame.following, 'FOLLOWING')}"
    return f"{'ROWS' if frame.rows else 'RANGE'} BETWEEN {ends}"


def _labels(columns: Schema) -> list[str]:
    times = Counter(column.name for column in columns)
    return [
        column.name if times[column.name] == 1 else f"{column.name}${index}" for index, column in enumerate(columns)
    ]


def named(columns: Sequence[int], schema: Schema) -> str:
    """The names of columns, in brackets."""
    names = _labels(schema)
    return "[" + ", ".join(names[index] for index in columns) + "]"


def sets_text(keys: Sequence[int], sets: Sequence[Sequence[int]], schema: Schema) -> str:
    """GROUPING SETS, which are positions in the keys."""
    return "sets=[" + ", ".join(named([keys[at] for at in each], schema) for each in sets) + "]"
