"""Every function that an expression can call is built in."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tests.corpus import corpus

from millrace.relational.functions.aggregates.registry import find_aggregate
from millrace.relational.functions.registry import find_scalar
from millrace.relational.types import IntType
from millrace.table import expressions
from millrace.table.expression import Expression, JsonOnNull, TimeIntervalUnit, TimePointUnit
from millrace.table.expressions import col
from millrace.table.sql import nodes

_SPECIAL: dict[str, Any] = {
    "data_type": IntType(), "time_interval_unit": TimeIntervalUnit.DAY, "time_point_unit": TimePointUnit.DAY,
    "path": "$", "on_null": JsonOnNull.NULL, "json_type": None, "on_error": None, "returning_type": IntType(),
}  # fmt: skip
_OVER_ONLY = {"LAG", "LEAD"}


def argument(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    return default if default not in (None, parameter.empty) else _SPECIAL.get(parameter.name, "x")


def called(function: Any) -> Expression[Any]:
    args = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            args.append(argument(parameter))
    found = function(*args)
    assert isinstance(found, Expression)
    return found


def every() -> Iterator[tuple[str, Expression[Any]]]:
    spans = {f"{unit}{s}" for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli")
             for s in ("", "s")}  # fmt: skip
    for name in dir(Expression):
        if name.startswith("_") or name in spans:
            continue
        member = inspect.getattr_static(Expression, name)
        yield name, getattr(col("a"), name) if isinstance(member, property) else called(getattr(col("a"), name))
    for name in expressions.__all__:
        function = getattr(expressions, name)
        if callable(function) and not isinstance(function, Expression) and name not in ("call_sql", "range_"):
            yield name, called(function)


FUNCTIONS = sorted(
    {part.this for _, expression in every() for part in expression._node.walk() if isinstance(part, nodes.BuiltIn)}
)


@corpus("name", FUNCTIONS, 189)
def test_is_built_in(name: str) -> None:
    assert name in _OVER_ONLY or find_scalar(name) is not None or find_aggregate(name) is not None
