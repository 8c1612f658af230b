"""Filter over ROW_NUMBER, RANK or DENSE_RANK -> Top-N; Top-1 by time -> first or last row of each key."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import Call, Literal, Ref, Rex, conjunction, conjuncts
from millrace.relational.rules.windows import window_columns

_RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def top_n(plan: n.Rel) -> n.Rel:
    """A filter that bounds the rank of an ``Over`` from above becomes a ``Rank``, or a ``Deduplicate`` for the first
    row in the order of a time attribute. Projections between the two are gone through."""
    if not isinstance(plan, n.Filter):
        return plan
    projects, over = _below(plan.input)
    if over is None:
        return plan
    number = len(over.input.schema)
    column = _trace_up(projects, number)
    if column is None:
        return plan
    first, last, rest = _bounds(plan.condition, column)
    if last is None or last < first:
        return plan
    ranked = _ranked(over, first, last)
    for project in reversed(projects):
        ranked = replace(project, input=ranked)
    return n.Filter(ranked, conjunction(rest)) if rest else ranked


def _below(plan: n.Rel) -> tuple[list[n.Project], n.Over | None]:
    projects: list[n.Project] = []
    while isinstance(plan, n.Project):
        projects.append(plan)
        plan = plan.input
    if isinstance(plan, n.Over) and len(plan.calls) == 1 and plan.calls[0][0].function in _RANKS and plan.order:
        return projects, plan
    return projects, None


def _trace_up(projects: list[n.Project], column: int) -> int | None:
    """Where a column of the lowest input is after the projections."""
    for project in reversed(projects):
        places = [at for at, each in enumerate(project.expressions) if isinstance(each, Ref) and each.index == column]
        if not places:
            return None
        column = places[0]
    return column


def _bounds(condition: Rex, column: int) -> tuple[int, int | None, list[Rex]]:
    """The ranks that a condition lets through, and what else it asks for."""
    first, last, rest = 1, None, []
    for part in conjuncts(condition):
        bound = _bound(part, column)
        if bound is None:
            rest.append(part)
            continue
        low, high = bound
        first = max(first, low)
        if high is not None:
            last = high if last is None else min(last, high)
    return first, last, rest


def _bound(part: Rex, column: int) -> tuple[int, int | None] | None:
    if not isinstance(part, Call) or part.function not in _TURNED:
        return None
    sign, (left, right) = part.function, part.args
    if isinstance(left, Literal) or (isinstance(left, Call) and left.function == "CAST"):
        sign, left, right = _TURNED[sign], right, left
    value = _whole(right)
    if not isinstance(left, Ref) or left.index != column or value is None:
        return None
    return {
        "<": (1, value - 1),
        "<=": (1, value),
        ">": (value + 1, None),
        ">=": (value, None),
        "=": (value, value),
    }[sign]


def _whole(expression: Rex) -> int | None:
    if isinstance(expression, Call) and expression.function == "CAST":
        return _whole(expression.args[0])
    value = expression.value if isinstance(expression, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ranked(over: n.Over, first: int, last: int) -> n.Rel:
    function = over.calls[0][0].function
    window = _window_of(over)
    number = over.produced[0]
    key = over.order[0].expression
    by_time = isinstance(key, Ref) and over.input.schema[key.index].time is not None
    if function == "ROW_NUMBER" and first == last == 1 and by_time and len(over.order) == 1:
        assert isinstance(key, Ref)
        return n.Deduplicate(over.input, over.partition, key.index, over.order[0].descending, window, number)
    return n.Rank(over.input, function, over.partition, over.order, first, last, number, window)


def _window_of(over: n.Over) -> tuple[int, int] | None:
    """The bounds of the window among the columns that are partitioned by."""
    found = window_columns(over.input)
    return found if found is not None and set(found) <= set(over.partition) else None
