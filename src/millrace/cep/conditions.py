"""What ``where``, ``or_`` and ``until`` take, as conditions of the automaton."""

from __future__ import annotations

import inspect
from typing import Any

from millrace.runtime.cep.conditions import (
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
)

_BOTH = 2


def as_condition(given: Any, where: str) -> IterativeCondition:
    """The condition that was given: one already, a function of the event or of the event and the context.

    :raises TypeError: it is none of these.
    """
    if isinstance(given, IterativeCondition):
        return given
    if isinstance(given, type) and issubclass(given, IterativeCondition):
        raise TypeError(f"{where}: {given.__name__} is a class; give an object of it: {given.__name__}()")
    if callable(given):
        return IterativeFunctionCondition(given) if _takes_context(given) else FunctionCondition(given)
    raise TypeError(
        f"{where}: a condition is a function of the event, one of the event and the context, or a SimpleCondition or "
        f"IterativeCondition, not {given!r}"
    )


def _takes_context(function: Any) -> bool:
    """Whether a function must be called with the context, too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions don't tell
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(needed) == _BOTH
