"""Deep expressions are made into lists of steps (``relational.rex_steps``)."""

from __future__ import annotations

from millrace.relational.functions.registry import find_scalar
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex
from millrace.relational.rex_steps import STEPS

DEEP = 40
"""levels that are left as they are"""


def shallow(expression: Rex) -> Rex:
    """The same value by an expression of few levels. The very same expression if it has few."""
    depths = _depths(expression)
    if depths[id(expression)] <= DEEP:
        return expression
    way: list[tuple[Rex, int]] = []
    part = expression
    while depths[id(part)] > 1 and _may_be_step(part):
        place = max(range(len(part.children)), key=lambda at: depths[id(part.children[at])])
        way.append((part, place))
        part = part.children[place]
    if not way:
        return expression.with_children(tuple(map(shallow, expression.children)))
    return _in_steps(part, way)


def _in_steps(innermost: Rex, way: list[tuple[Rex, int]]) -> Rex:
    args: list[Rex] = [innermost]
    steps: list[Rex] = []
    if isinstance(innermost, Call) and innermost.function == STEPS:
        args, steps = list(innermost.args), list(innermost.option("steps"))
    so_far = innermost.type
    for part, place in reversed(way):
        children: list[Rex] = []
        for at, child in enumerate(part.children):
            if at == place:
                children.append(Ref(so_far, 0))
            elif isinstance(child, Literal):
                children.append(child)
            else:
                children.append(Ref(child.type, len(args)))
                args.append(shallow(child))
        steps.append(part.with_children(tuple(children)))
        so_far = part.type
    return Call(so_far, STEPS, tuple(args), (("steps", tuple(steps)),))


def _may_be_step(part: Rex) -> bool:
    """Whether it may be computed apart from its place; others are seen by rules that look for them."""
    if isinstance(part, FieldAccess):
        return True
    function = find_scalar(part.function) if isinstance(part, Call) and part.function != STEPS else None
    return function is not None and function.deterministic and not function.dynamic and not function.sees_calls


def _depths(expression: Rex) -> dict[int, int]:
    """Levels of each part, by its id; without calls within calls."""
    found: dict[int, int] = {}
    todo = [expression]
    while todo:
        part = todo[-1]
        missing = [child for child in part.children if id(child) not in found]
        if missing:
            todo += missing
            continue
        todo.pop()
        found[id(part)] = 1 + max((found[id(child)] for child in part.children), default=0)
    return found
