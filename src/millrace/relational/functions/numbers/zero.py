"""Division by zero: what users are told, and Spark text that behaves as Flink, where Spark itself would give NULL."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational import types as t
from millrace.relational.rex import Call, Literal
from millrace.relational.rex_text import rex_text


def division_by_zero(call: Call) -> str:
    """The message for a call of ``/`` or ``%``."""
    left, right = (rex_text(arg, ()) for arg in call.args)
    return f"division by zero: {left} {call.function} {right}. Guard it with CASE, or divide by NULLIF({right}, 0)"


def spark_exact_division(call: Call, args: Sequence[str], operator: str) -> str:
    """``/``, ``DIV`` or ``%`` of exact numbers, with an error for a divisor of zero."""
    left, right = args
    plain = f"({left} {operator} {right})"
    divisor = call.args[1]
    if isinstance(divisor, Literal) and divisor.value:
        return plain
    message = division_by_zero(call).replace("\\", "\\\\").replace("'", "\\'")
    zero = f"{right} = 0"
    if call.args[0].type.is_nullable:
        zero += f" AND {left} IS NOT NULL"
    return f"CASE WHEN {zero} THEN raise_error('{message}') ELSE {plain} END"


def spark_double_division(call: Call, args: Sequence[str], operator: str) -> str:
    """``/`` or ``%`` of floating numbers by IEEE 754."""
    left, right = args
    wanted = "FLOAT" if isinstance(call.type, t.FloatType) else "DOUBLE"
    plain = f"CAST({left} {operator} {right} AS {wanted})"
    divisor = call.args[1]
    if isinstance(divisor, Literal) and divisor.value:
        return plain
    if operator == "%":
        limit = f"{wanted}('NaN')"
    else:
        limit = f"IF(CAST({right} AS STRING) = '-0.0', {wanted}('-Infinity'), {wanted}('Infinity'))"
    return f"CASE WHEN {right} = 0 THEN {left} * {limit} ELSE {plain} END"
