"""Conditions of WHERE that compare the sides of an inner join -> conditions of the join."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import OuterRef, Rex, Subquery, conjunction, conjuncts, refs, shift, walk
from millrace.relational.rules.interval_join import interval_join
from millrace.relational.rules.window_join import window_join


def join_conditions(plan: n.Rel) -> n.Rel:
    """A filter over inner joins: each part goes down to the lowest join that has all its columns, so that ``FROM a, b
    WHERE a.x = b.x`` is no cross product, and becomes a join of intervals or windows where it says so. Parts over one
    input alone stay above: the order of filters is another rule's."""
    if not isinstance(plan, n.Filter):
        return plan
    down = [part for part in conjuncts(plan.condition) if _may_move(part)]
    stay = [part for part in conjuncts(plan.condition) if not _may_move(part)]
    source, rest = _push(plan.input, down)
    if source is plan.input:
        return plan
    stay = [part for part in conjuncts(plan.condition) if part in rest or part in stay]
    return n.Filter(source, conjunction(stay)) if stay else source


def _may_move(part: Rex) -> bool:
    return not any(isinstance(each, (Subquery, OuterRef)) for each in walk(part))


def _push(plan: n.Rel, parts: list[Rex]) -> tuple[n.Rel, list[Rex]]:
    """The plan with the parts that join something; the others are given back."""
    if not isinstance(plan, (n.Join, n.WindowJoin, n.IntervalJoin)) or plan.kind != "INNER":
        return plan, parts
    width = len(plan.left.schema)
    read = [(part, refs(part)) for part in parts]
    both = [part for part, columns in read if min(columns, default=0) < width <= max(columns, default=0)]
    left = [part for part, columns in read if all(each < width for each in columns)]
    right = [part for part, columns in read if columns and min(columns) >= width]
    new_left, rest_left = _push(plan.left, left)
    new_right, rest_right = _push(plan.right, [shift(part, -width) for part in right])
    rest = rest_left + [shift(part, width) for part in rest_right]
    if not both and new_left is plan.left and new_right is plan.right:
        return plan, rest
    condition = conjunction([*conjuncts(plan.condition), *both])
    if isinstance(plan, n.Join):
        joined = n.Join(new_left, new_right, "INNER", condition)
        return interval_join(window_join(joined)), rest
    return replace(plan, left=new_left, right=new_right, condition=condition), rest
