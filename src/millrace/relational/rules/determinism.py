"""Which expressions may be computed more or less often than they are written."""

from __future__ import annotations

from millrace.relational.functions.registry import find_scalar
from millrace.relational.rex import Call, Rex, Subquery, UdfCall, walk


def is_deterministic(expression: Rex) -> bool:
    """Whether equal rows always give equal values, in every place of a plan."""
    return all(_is(part) for part in walk(expression))


def _is(part: Rex) -> bool:
    if isinstance(part, UdfCall):
        return part.deterministic
    if isinstance(part, Subquery):
        return False
    if isinstance(part, Call):
        function = find_scalar(part.function)
        return function is None or (function.deterministic and not function.dynamic)
    return True


def is_expensive(expression: Rex) -> bool:
    """Whether it calls a function of the user."""
    return any(isinstance(part, UdfCall) for part in walk(expression))
