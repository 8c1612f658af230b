"""Going through plans and the expressions of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import AggCall, Frame, OuterRef, Rex, SortKey, Subquery, walk

Change = Callable[[Rex], Rex]


def transform(plan: n.Rel, change: Callable[[n.Rel], n.Rel]) -> n.Rel:
    """Every node replaced by what ``change`` makes of it, inputs first. Plans of subqueries are not entered."""
    inputs = plan.inputs
    if inputs:
        new = tuple(transform(each, change) for each in inputs)
        if any(a is not b for a, b in zip(new, inputs)):
            plan = plan.with_inputs(new)
    return change(plan)


def expressions_of(node: n.Rel) -> Iterator[Rex]:
    """The expressions of one node, without those of its inputs."""
    found: list[Rex] = []

    def note(expression: Rex) -> Rex:
        found.append(expression)
        return expression

    map_expressions(node, note)
    yield from found


def map_expressions(node: n.Rel, change: Change) -> n.Rel:
    """The node with each of its expressions (whole ones, not their parts) replaced."""
    if isinstance(node, n.Project):
        return replace(node, expressions=tuple(map(change, node.expressions)))
    if isinstance(node, n.Expand):
        return replace(node, projections=tuple(tuple(map(change, each)) for each in node.projections))
    if isinstance(node, (n.Filter, n.Join, n.IntervalJoin, n.WindowJoin, n.TemporalJoin)):
        return replace(node, condition=change(node.condition))
    if isinstance(node, n.Watermark):
        return replace(node, expression=change(node.expression))
    if isinstance(node, n.Correlate):
        condition = None if node.condition is None else change(node.condition)
        return replace(node, args=tuple(map(change, node.args)), condition=condition)
    if isinstance(node, n.LookupJoin):
        condition = None if node.condition is None else change(node.condition)
        return replace(node, lookup=tuple((at, change(key)) for at, key in node.lookup), condition=condition)
    if isinstance(node, (n.Sort, n.Rank)):
        return _map_keys(node, change)
    if isinstance(node, (n.Aggregate, n.WindowAggregate)):
        return replace(node, aggregates=tuple(call.map(change) for call in node.aggregates))
    if isinstance(node, n.Over):
        calls: tuple[tuple[AggCall, Frame], ...] = tuple((call.map(change), frame) for call, frame in node.calls)
        return replace(node, calls=calls, order=_keys(node.order, change))
    return node


def _map_keys(node: n.Sort | n.Rank, change: Change) -> n.Rel:
    if isinstance(node, n.Sort):
        return replace(node, keys=_keys(node.keys, change))
    return replace(node, order=_keys(node.order, change))


def _keys(keys: tuple[SortKey, ...], change: Change) -> tuple[SortKey, ...]:
    return tuple(replace(key, expression=change(key.expression)) for key in keys)


def subqueries_of(node: n.Rel) -> list[Subquery]:
    """The subqueries in the expressions of one node, outermost ones only in the sense of plans."""
    return [part for expression in expressions_of(node) for part in walk(expression) if isinstance(part, Subquery)]


def outer_refs(plan: n.Rel, depth: int = 1) -> set[int]:
    """The columns of the query ``depth`` levels around that a plan reads, also in subqueries inside of it."""
    found: set[int] = set()
    for node in n.walk(plan):
        for expression in expressions_of(node):
            for part in walk(expression):
                if isinstance(part, OuterRef) and part.depth == depth:
                    found.add(part.index)
                elif isinstance(part, Subquery):
                    found |= outer_refs(part.plan, depth + 1)
    return found


def is_correlated(plan: n.Rel) -> bool:
    """Whether a plan reads columns of any query around it."""
    return _reach(plan) > 0


def _reach(plan: n.Rel) -> int:
    reach = 0
    for node in n.walk(plan):
        for expression in expressions_of(node):
            for part in walk(expression):
                if isinstance(part, OuterRef):
                    reach = max(reach, part.depth)
                elif isinstance(part, Subquery):
                    reach = max(reach, _reach(part.plan) - 1)
    return reach
