"""A join on equal windows -> ``WindowJoin``."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Call, Ref, Rex, conjuncts
from millrace.relational.rules.windows import find_window


def window_join(plan: n.Rel) -> n.Rel:
    """A join whose condition sets window_start and window_end of both inputs equal. The windows must be of one kind and
    size; otherwise it stays a regular join."""
    if not isinstance(plan, n.Join) or plan.null_aware:
        return plan
    left, right = find_window(plan.left), find_window(plan.right)
    if left is None or right is None or left[0] != right[0] or None in (*left[1:3], *right[1:3]):
        return plan
    width = len(plan.left.schema)
    equal = {pair for part in conjuncts(plan.condition) for pair in _equated(part, width)}
    starts, ends = (left[1], right[1]), (left[2], right[2])
    if starts not in equal or ends not in equal:
        return plan
    assert left[1] is not None and left[2] is not None and right[1] is not None and right[2] is not None
    return n.WindowJoin(plan.left, plan.right, plan.kind, plan.condition, (left[1], left[2]), (right[1], right[2]))


def _equated(part: Rex, width: int) -> list[tuple[int | None, int | None]]:
    if not isinstance(part, Call) or part.function != "=":
        return []
    sides = sorted(each.index for each in part.args if isinstance(each, Ref))
    return [(sides[0], sides[1] - width)] if len(sides) == 2 and sides[0] < width <= sides[1] else []
