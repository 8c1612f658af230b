"""A join whose condition bounds the time between its rows -> ``IntervalJoin``."""

from __future__ import annotations

import datetime

from millrace.relational import nodes as n
from millrace.relational.rex import Call, Literal, Ref, Rex, conjuncts
from millrace.relational.types import DayTimeIntervalType
from millrace.util.record import Record

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class _Moment(Record):
    """A time attribute and a constant added to it, in ms."""

    column: int
    plus: int


def interval_join(plan: n.Rel) -> n.Rel:
    """A join with an upper and a lower bound on the difference of two time attributes of the same kind, one of each
    input. The whole condition is kept: the bounds only say how long rows are."""
    if not isinstance(plan, n.Join) or plan.null_aware:
        return plan
    columns = plan.left.schema + plan.right.schema
    width = len(plan.left.schema)
    lower: dict[tuple[int, int], int] = {}
    upper: dict[tuple[int, int], int] = {}
    for part in conjuncts(plan.condition):
        for pair, low, high in _bounds(part, columns, width):
            if low is not None:
                lower[pair] = max(low, lower.get(pair, low))
            if high is not None:
                upper[pair] = min(high, upper.get(pair, high))
    both = [pair for pair in lower if pair in upper]
    if not both:
        return plan
    left, right = both[0]
    return n.IntervalJoin(
        plan.left, plan.right, plan.kind, plan.condition, left, right - width, lower[both[0]], upper[both[0]]
    )


def _bounds(part: Rex, columns: n.Schema, width: int) -> list[tuple[tuple[int, int], int | None, int | None]]:
    """What a comparison says about right time - left time: a lower and an upper bound in ms."""
    if not isinstance(part, Call) or part.function not in _TURNED:
        return []
    sign = part.function
    a, b = (_moment(arg, columns) for arg in part.args)
    if a is None or b is None or (a.column < width) == (b.column < width):
        return []
    if columns[a.column].time != columns[b.column].time:
        return []
    if b.column < width:
        a, b, sign = b, a, _TURNED[sign]
    # left + a.plus <sign> right + b.plus
    difference = a.plus - b.plus
    pair = (a.column, b.column)
    if sign == "=":
        return [(pair, difference, difference)]
    if sign in ("<", "<="):
        return [(pair, difference + (sign == "<"), None)]
    return [(pair, None, difference - (sign == ">"))]


def _moment(expression: Rex, columns: n.Schema) -> _Moment | None:
    if isinstance(expression, Ref):
        return _Moment(expression.index, 0) if columns[expression.index].time is not None else None
    if not isinstance(expression, Call):
        return None
    if expression.function == "CAST" and isinstance(expression.type, type(expression.args[0].type)):
        return _moment(expression.args[0], columns)
    sign = expression.function.removesuffix(" TIME")
    if sign not in ("+", "-") or len(expression.args) != 2:
        return None
    base, span = expression.args
    if sign == "+" and _milliseconds(base) is not None:
        base, span = span, base
    moment, length = _moment(base, columns), _milliseconds(span)
    if moment is None or length is None:
        return None
    return _Moment(moment.column, moment.plus + (length if sign == "+" else -length))


def _milliseconds(expression: Rex) -> int | None:
    if isinstance(expression, Call) and expression.function == "CAST":
        return _milliseconds(expression.args[0])
    if not isinstance(expression, Literal) or not isinstance(expression.type, DayTimeIntervalType):
        return None
    return None if expression.value is None else expression.value // datetime.timedelta(milliseconds=1)
