"""Going through plans and the expressions of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millrace.relational.nodes.base import Rel, walk
from millrace.relational.rex import OuterRef, Rex, Subquery
from millrace.relational.rex import walk as parts_of


def transform(plan: Rel, change: Callable[[Rel], Rel]) -> Rel:
    """Every node replaced by what ``change`` makes of it, inputs first. Plans of subqueries are not entered."""
    inputs = plan.inputs
    if inputs:
        new = tuple(transform(each, change) for each in inputs)
        if any(a is not b for a, b in zip(new, inputs)):
            plan = plan.with_inputs(new)
    return change(plan)


def expressions_of(node: Rel) -> Iterator[Rex]:
    """The expressions of one node, without those of its inputs."""
    found: list[Rex] = []

    def note(expression: Rex) -> Rex:
        found.append(expression)
        return expression

    node.map_expressions(note)
    yield from found


def subqueries_of(node: Rel) -> list[Subquery]:
    """The subqueries in the expressions of one node, outermost ones only in the sense of plans."""
    return [part for expression in expressions_of(node) for part in parts_of(expression) if isinstance(part, Subquery)]


def outer_refs(plan: Rel, depth: int = 1) -> set[int]:
    """The columns of the query ``depth`` levels around that a plan reads, also in subqueries inside of it."""
    found: set[int] = set()
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef) and part.depth == depth:
                    found.add(part.index)
                elif isinstance(part, Subquery):
                    found |= outer_refs(part.plan, depth + 1)
    return found


def is_correlated(plan: Rel) -> bool:
    """Whether a plan reads columns of any query around it."""
    return _reach(plan) > 0


def _reach(plan: Rel) -> int:
    reach = 0
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef):
                    reach = max(reach, part.depth)
                elif isinstance(part, Subquery):
                    reach = max(reach, _reach(part.plan) - 1)
    return reach
