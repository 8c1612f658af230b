"""Writes expressions as text, with the names of the columns that they read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from millrace.relational.matching import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    MatchPart,
    MatchRowtime,
    Navigation,
)
from millrace.relational.rex import (
    STEPS,
    AggCall,
    Call,
    Distance,
    FieldAccess,
    Frame,
    Literal,
    OuterRef,
    Ref,
    Rex,
    Schema,
    SortKey,
    Subquery,
    UdfCall,
    steps_text,
)
from millrace.relational.types import NullType

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
