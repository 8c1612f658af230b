"""Bound expressions as Spark SQL text."""

from __future__ import annotations

from itertools import islice

from millrace.relational.functions.registry import find_scalar
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex, walk
from millrace.spark.tables.texts.literals import field_text, literal_text

MOST_PARTS = 2_000
"""Spark takes minutes to read what is much larger"""


def spark_text(expression: Rex) -> str | None:
    """The expression over columns c0, c1, ...; None if Spark does not compute a part of it as Flink does, or if it
    has too many parts to be read by Spark."""
    if sum(1 for _ in islice(walk(expression), MOST_PARTS + 1)) > MOST_PARTS:
        return None
    return _text(expression)


def _text(expression: Rex) -> str | None:
    if isinstance(expression, Ref):
        return f"c{expression.index}"
    if isinstance(expression, Literal):
        return literal_text(expression.value, expression.type)
    if isinstance(expression, FieldAccess):
        row = _text(expression.row)
        return None if row is None else field_text(row, expression.name)
    if isinstance(expression, Call):
        return _call(expression)
    return None


def _call(expression: Call) -> str | None:
    function = find_scalar(expression.function)
    if function is None or function.spark is None:
        return None
    args = [_text(arg) for arg in expression.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    text = function.spark(expression, known)
    return None if text is None else f"({text})"
