"""Expressions over the values of a match, computed for one row at a time.

What Python computes just as Arrow's kernels do is a closure; any other part is computed on columns of one row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator, repeat
from millrace.relational.rex import Call, Literal, Ref, Rex, refs, remap
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow_scalar
from millrace.runtime.cep.backtracking import Row
from millrace.runtime.tables.columns.row_codec import cell_values
from millrace.runtime.tables.matching.aggregates import Memory
from millrace.runtime.tables.matching.parts import Look, Part, value_of

Evaluate = Callable[[Sequence[pa.Array], int], Evaluator]
"""makes an evaluator of expressions on columns"""

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def compiled(expression: Rex, parts: Sequence[Part], evaluate: Evaluate) -> Look:
    """A function that computes an expression over the values of parts, as a cell."""
    if isinstance(expression, Ref):
        return _of_part(parts[expression.index])
    if isinstance(expression, Literal):
        constant = _constant(expression)
        return lambda rows, at, labels, memory, number: constant
    if isinstance(expression, Call):
        args = [arg.type for arg in expression.args]
        make = _forms.get(expression.function)
        made = None if make is None else make(expression, args)
        if made is not None:
            given = [compiled(arg, parts, evaluate) for arg in expression.args]
            return made(given, _on_columns(expression, parts, evaluate))
    return _on_columns(expression, parts, evaluate)


def _of_part(part: Part) -> Look:
    if not hasattr(part.expression, "call"):
        return part.look
    look = part.look
    return lambda rows, at, labels, memory, number: value_of(part, look(rows, at, labels, memory, number))


def _constant(literal: Literal) -> Any:
    return cell_values(repeat(to_arrow_scalar(literal.value, literal.type), 1))[0]


def _on_columns(expression: Rex, parts: Sequence[Part], evaluate: Evaluate) -> Look:
    used = sorted(refs(expression))
    chosen = [parts[each] for each in used]
    narrow = remap(expression, {each: place for place, each in enumerate(used)})

    def look(rows: Sequence[Row], at: int, labels: bytes, memory: Memory, number: int) -> Any:
        columns = [part.values([part.look(rows, at, labels, memory, number)]) for part in chosen]
        return cell_values(evaluate(columns, 1).column(narrow))[0]

    return look


Made = Callable[[list[Look], Look], Look]
"""(functions for the arguments, a function that computes the call on columns) -> a function for the value"""


def _logical(decisive: bool) -> Callable[[Call, Sequence[DataType]], Made]:
    """AND (False decides) or OR (True decides): arguments after the deciding one are not computed."""

    def of(call: Call, types: Sequence[DataType]) -> Made:
        def made(args: list[Look], slow: Look) -> Look:
            def look(*seen: Any) -> Any:
                result: Any = not decisive
                for arg in args:
                    value = arg(*seen)
                    if value is decisive:
                        return decisive
                    if value is None:
                        result = None
                return result

            return look

        return made

    return of


def _not(call: Call, types: Sequence[DataType]) -> Made:
    def made(args: list[Look], slow: Look) -> Look:
        (arg,) = args

        def look(*seen: Any) -> Any:
            value = arg(*seen)
            return None if value is None else not value

        return look

    return made


def _is_null(call: Call, types: Sequence[DataType]) -> Made:
    wanted = call.function == "IS NULL"

    def made(args: list[Look], slow: Look) -> Look:
        (arg,) = args
        return lambda *seen: (arg(*seen) is None) is wanted

    return made


def _comparison(call: Call, types: Sequence[DataType]) -> Made | None:
    one, other = map(arrow_type, types)
    plain = one == other and _is_plain(one)
    if not plain and not (pa.types.is_integer(one) and pa.types.is_integer(other)):
        return None
    compare = _COMPARISONS[call.function]
    floating = pa.types.is_floating(one)

    def made(args: list[Look], slow: Look) -> Look:
        left, right = args

        def look(*seen: Any) -> Any:
            a, b = left(*seen), right(*seen)
            if a is None or b is None:
                return None
            if floating and (a.__class__ is str or b.__class__ is str):  # NaN
                return slow(*seen)
            return compare(a, b)

        return look

    return made


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    known = (types.is_integer, types.is_floating, types.is_decimal, types.is_string, types.is_timestamp)
    return any(check(kind) for check in (*known, types.is_date32, types.is_boolean))


def _arithmetic(call: Call, types: Sequence[DataType]) -> Made | None:
    kinds = [*map(arrow_type, types), arrow_type(call.type)]
    compute = _ARITHMETIC[call.function]
    if all(map(pa.types.is_signed_integer, kinds)):
        limit = 2 ** (kinds[-1].bit_width - 1)

        def fits(value: Any) -> bool:
            return bool(-limit <= value < limit)
    elif all(kind == pa.float64() for kind in kinds):

        def fits(value: Any) -> bool:
            return bool(value - value == 0)  # neither infinite nor NaN
    else:
        return None

    def made(args: list[Look], slow: Look) -> Look:
        left, right = args

        def look(*seen: Any) -> Any:
            a, b = left(*seen), right(*seen)
            if a is None or b is None:
                return None
            if a.__class__ is str or b.__class__ is str:
                return slow(*seen)
            value = compute(a, b)
            return value if fits(value) else slow(*seen)

        return look

    return made


def _cast(call: Call, types: Sequence[DataType]) -> Made | None:
    (one,), wanted = map(arrow_type, types), arrow_type(call.type)
    wider = pa.types.is_signed_integer(one) and (
        wanted == pa.float64() or (pa.types.is_signed_integer(wanted) and one.bit_width <= wanted.bit_width)
    )
    if not wider:
        return None
    convert = float if wanted == pa.float64() else int

    def made(args: list[Look], slow: Look) -> Look:
        (arg,) = args

        def look(*seen: Any) -> Any:
            value = arg(*seen)
            return None if value is None else convert(value)

        return look

    return made


_forms: dict[str, Callable[[Call, Sequence[DataType]], Made | None]] = {
    "AND": _logical(False),
    "OR": _logical(True),
    "NOT": _not,
    "IS NULL": _is_null,
    "IS NOT NULL": _is_null,
    "CAST": _cast,
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
}
