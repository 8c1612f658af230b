"""What the words behind a dot, and functions by name, are in today's expressions."""

from __future__ import annotations

import re
from typing import Any

from millrace.table import expressions as today
from millrace.table.expression_methods.expression import Expression
from millrace.table.expression_methods.windows import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, UNBOUNDED_ROW
from millrace.table.expressions import call, col, lit

__all__ = ["constant_of", "function_of", "suffix_of"]

_CONSTANTS = {
    "true": lit(True),
    "false": lit(False),
    "unbounded_row": UNBOUNDED_ROW,
    "unbounded_range": UNBOUNDED_RANGE,
    "current_row": CURRENT_ROW,
    "current_range": CURRENT_RANGE,
}
_SUFFIXES = {"as": "alias", "in": "in_", "?": "then", "substring": "substring", "mod": "__mod__", "power": "power"}
_SINGULAR = {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli"}
_PLURAL = {f"{name}s" for name in _SINGULAR} | _SINGULAR
_FREE = (
    "array row concat concat_ws uuid pi e rand rand_integer atan2 current_date current_time current_timestamp "
    "local_time local_timestamp temporal_overlaps date_format negative coalesce with_columns without_columns"
)
_FREE_FUNCTIONS = {name: getattr(today, name) for name in _FREE.split()} | {
    "map": today.map_,
    "if": today.if_then_else,
    "not": today.not_,
    "and": today.and_,
    "or": today.or_,
}


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def constant_of(name: str) -> Expression[Any] | None:
    """What a word is by itself, if it is no column."""
    return _CONSTANTS.get(name.lower())


def suffix_of(value: Expression[Any], name: str, arguments: list[Any] | None) -> Expression[Any]:
    """``value.name`` or ``value.name(arguments)``; without arguments perhaps a field of a row."""
    today_name = _SUFFIXES.get(name.lower(), snake_case(name))
    if arguments is None and today_name in _SINGULAR:
        today_name = f"{today_name}s"
    found = getattr(Expression, today_name, None)
    if isinstance(found, property) and not arguments:
        return found.__get__(value)  # type: ignore[no-any-return]
    if callable(found):
        return found(value, *(arguments or ()))  # type: ignore[no-any-return]
    return value.get(name) if arguments is None else call(name, value, *arguments)


def function_of(name: str, arguments: list[Any]) -> Expression[Any]:
    """``name(arguments)``: a function without a first argument, a method of it under Flink's name, or one by name."""
    plain = snake_case(name)
    if plain in _FREE_FUNCTIONS:
        return _FREE_FUNCTIONS[plain](*arguments)  # type: ignore[no-any-return]
    has_flinks_name = name != name.lower() and name != name.upper()
    if has_flinks_name and arguments and hasattr(Expression, plain):
        return suffix_of(arguments[0], name, arguments[1:] or None)
    return call(name, *(arguments or ([col("*")] if plain == "count" else [])))
