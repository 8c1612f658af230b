"""What ``where``, ``or_`` and ``until`` take, as conditions of the automaton."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from millrace.common.typeinfo import TypeInformation
from millrace.runtime.cep.conditions import (
    Context,
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
)
from millrace.runtime.cep.description import PatternDescription
from millrace.runtime.cep.numbering import conditions_of

_BOTH = 2


class UnboundCondition(IterativeCondition):
    """An expression or SQL text, before it is known over which fields: ``CEP.pattern`` binds it to its stream."""

    def __init__(self, given: Any, where: str) -> None:
        self.given, self.where = given, where

    def filter(self, event: Any, ctx: Context) -> bool:
        raise RuntimeError(f"{self.where}: an expression needs the types of a stream: use CEP.pattern()")


def as_condition(given: Any, where: str) -> IterativeCondition:
    """The condition that was given: one already, a function of the event or of the event and the context, an
    expression, or SQL text.

    :raises TypeError: it is none of these.
    """
    if isinstance(given, IterativeCondition):
        return given
    if isinstance(given, type) and issubclass(given, IterativeCondition):
        raise TypeError(f"{where}: {given.__name__} is a class; give an object of it: {given.__name__}()")
    if isinstance(given, str) or _is_expression(given):
        return UnboundCondition(given, where)
    if callable(given):
        return IterativeFunctionCondition(given) if _takes_context(given) else FunctionCondition(given)
    raise TypeError(
        f"{where}: a condition is a function of the event (or of the event and the context), a SimpleCondition or "
        f"IterativeCondition, an expression like col('price') > 10, or SQL text, not {given!r}"
    )


def bound_pattern(pattern: PatternDescription, type_info: Callable[[], TypeInformation]) -> PatternDescription:
    """The pattern with its expressions, if there are any, over events of a type."""
    if not any(isinstance(each, UnboundCondition) for each in conditions_of(pattern.steps)):
        return pattern
    from millrace.cep.expressions import bound  # only those who use expressions need what computes them

    return bound(pattern, type_info())


def _is_expression(given: Any) -> bool:
    """Whether this is an expression of the Table API, without importing that."""
    kinds = type(given).__mro__
    return any(kind.__name__ == "Expression" and kind.__module__.startswith("millrace.table") for kind in kinds)


def _takes_context(function: Any) -> bool:
    """Whether a function must be called with the context, too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions don't tell
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(needed) == _BOTH
