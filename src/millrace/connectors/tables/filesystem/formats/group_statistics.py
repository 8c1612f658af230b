"""Whether a row group can have rows for a condition, by the smallest and largest values that its file tells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex

# (smallest, largest, constant) -> may a value between them compare so?
_POSSIBLE: dict[str, Callable[[Any, Any, Any], bool]] = {
    "=": lambda low, high, value: bool(low <= value <= high),
    "<": lambda low, high, value: bool(low < value),
    "<=": lambda low, high, value: bool(low <= value),
    ">": lambda low, high, value: bool(high > value),
    ">=": lambda low, high, value: bool(high >= value),
}
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Of floats nothing is known about NaN, of decimals and texts in CHAR the forms differ.
_ORDERED = (t.IntegralType, t.DateType, t.VarCharType, t.TimestampType, t.LocalZonedTimestampType)


def may_match(group: Any, filters: Sequence[Rex], columns: Schema) -> bool:
    """Whether some row of a Parquet row group may pass all conditions; True where nothing is known."""
    tests = [test for each in filters if (test := _test(each, columns)) is not None]
    if not tests:
        return True
    places = {group.column(index).path_in_schema: index for index in range(group.num_columns)}
    return all(_may(group, places, *test) for test in tests)


def _test(condition: Rex, columns: Schema) -> tuple[str, str, Any] | None:
    """(column, comparison, constant) of a condition that has this form."""
    if not isinstance(condition, Call) or condition.function not in _POSSIBLE or len(condition.args) != 2:
        return None
    left, right = condition.args
    function = condition.function
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal) or right.value is None:
        return None
    column = columns[left.index]
    if not isinstance(column.type, _ORDERED):
        return None
    return column.name, function, right.value


def _may(group: Any, places: dict[str, int], name: str, function: str, value: Any) -> bool:
    place = places.get(name)
    statistics = None if place is None else group.column(place).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = statistics.min, statistics.max
    try:
        return _POSSIBLE[function](_comparable(low), _comparable(high), _comparable(value))
    except TypeError:  # the file has another type than the table
        return True


def _comparable(value: Any) -> Any:
    if isinstance(value, bool):
        raise TypeError("Booleans have no order here")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return value
