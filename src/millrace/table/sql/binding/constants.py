"""Constants that are computed when a query is planned."""

from __future__ import annotations

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.rex import Call, Literal, Rex, walk
from millrace.relational.types import AtomicType
from millrace.relational.values import to_python


def fold(expression: Rex, zone: str) -> Rex:
    """A literal in place of a call whose parts are all constants, unless it is of a constructed type (its Python form
    can be changed, so it is no part of a plan); anything else as it is.

    :param zone: of the session.
    """
    if isinstance(expression, Literal) or not all(_constant(part) for part in walk(expression)):
        return expression
    if not isinstance(expression.type, AtomicType):
        return expression
    column = Evaluator([], Surroundings(1, zone)).column(expression)
    return Literal(expression.type, to_python(column, expression.type)[0])


def constant(expression: Rex, zone: str) -> Rex:
    """As ``fold``, where the query needs to know a value while it is planned; a call that cannot be computed stays as
    it is, and is refused as no constant."""
    try:
        return fold(expression, zone)
    except (ValueError, ArithmeticError):
        return expression


def _constant(part: Rex) -> bool:
    if isinstance(part, Literal):
        return True
    function = find_scalar(part.function) if isinstance(part, Call) else None
    return function is not None and function.deterministic and not function.dynamic
