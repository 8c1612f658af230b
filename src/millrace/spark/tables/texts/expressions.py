"""Bound expressions as Spark SQL text."""

from __future__ import annotations

from millrace.relational.functions.registry import find_scalar
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex
from millrace.spark.tables.texts.literals import field_text, literal_text


def spark_text(expression: Rex) -> str | None:
    """The expression over columns c0, c1, ...; None if Spark does not compute a part of it as Flink does."""
    if isinstance(expression, Ref):
        return f"c{expression.index}"
    if isinstance(expression, Literal):
        return literal_text(expression.value, expression.type)
    if isinstance(expression, FieldAccess):
        row = spark_text(expression.row)
        return None if row is None else field_text(row, expression.name)
    if isinstance(expression, Call):
        return _call(expression)
    return None


def _call(expression: Call) -> str | None:
    function = find_scalar(expression.function)
    if function is None or function.spark is None:
        return None
    args = [spark_text(arg) for arg in expression.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    text = function.spark(expression, known)
    return None if text is None else f"({text})"
