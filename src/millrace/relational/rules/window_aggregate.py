"""Aggregates grouped by window_start and window_end of a windowing table function -> ``WindowAggregate``."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.relational.rules.windows import find_window


def window_aggregate(plan: n.Rel) -> n.Rel:
    """An ``Aggregate`` whose keys are the bounds of its input's windows becomes an attached ``WindowAggregate``, with
    a projection that puts the columns back in their order. With GROUPING SETS every set must have both bounds."""
    if not isinstance(plan, n.Aggregate):
        return plan
    found = find_window(plan.input)
    if found is None:
        return plan
    window, start, end, time = found
    if start is None or end is None or start not in plan.keys or end not in plan.keys:
        return plan
    properties = {start: "START", end: "END"}
    if time is not None and time in plan.keys:
        properties[time] = plan.input.schema[time].time or "ROWTIME"
    if plan.sets is not None and not _in_every_set(plan, (start, end)):
        return plan
    return _attached(plan, window, (start, end), properties)


def _in_every_set(plan: n.Aggregate, bounds: tuple[int, int]) -> bool:
    positions = [plan.keys.index(each) for each in bounds]
    return all(set(positions) <= set(each) for each in plan.sets or ())


def _attached(plan: n.Aggregate, window: n.WindowSpec, bounds: tuple[int, int], properties: dict[int, str]) -> n.Rel:
    kept = [position for position, key in enumerate(plan.keys) if key not in properties]
    shown = [position for position, key in enumerate(plan.keys) if key in properties]
    calls = range(len(plan.keys), len(plan.schema))
    order = [*kept, *calls, *shown]
    columns = tuple(_with_time(plan, position) for position in order)
    sets = None
    if plan.sets is not None:
        sets = tuple(tuple(kept.index(each) for each in one if each in kept) for one in plan.sets)
    node = n.WindowAggregate(
        plan.input,
        window,
        bounds[1],
        tuple(plan.keys[position] for position in kept),
        plan.aggregates,
        tuple(properties[plan.keys[position]] for position in shown),
        columns,
        bounds,
        sets,
    )
    if order == sorted(order):
        return node
    places = {position: at for at, position in enumerate(order)}
    expressions = tuple(Ref(columns[places[at]].type, places[at]) for at in range(len(order)))
    return n.Project(node, expressions, tuple(columns[places[at]] for at in range(len(order))))


def _with_time(plan: n.Aggregate, position: int) -> n.Field:
    """A column of the result; window_time stays a time attribute, since windows are given out in its order."""
    field = plan.schema[position]
    if position >= len(plan.keys):
        return field
    key = plan.keys[position]
    found = find_window(plan.input)
    is_time = found is not None and found[3] == key
    return replace(field, time=plan.input.schema[key].time if is_time else None)
