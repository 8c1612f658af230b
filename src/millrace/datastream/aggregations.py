"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` as reduce functions on one field.

They work on tuples, lists, rows and plain values (position 0). Never in place: the argument may be state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types import Row, row_of
from millrace.datastream.functions import ReduceFunction

Position = int | str


class FieldReduce(ReduceFunction):
    """Replaces one field of the first record by ``combine`` of both fields."""

    def __init__(self, position: Position, combine: Callable[[Any, Any], Any]) -> None:
        self._position = check_position(position)
        self._combine = combine

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._position
        if isinstance(value1, Row):
            return _with_row_field(value1, at, self._combine(value1[at], value2[at]))
        if isinstance(value1, (tuple, list)):
            fields = list(value1)
            fields[at] = self._combine(value1[at], value2[at])  # type: ignore[index, call-overload]
            return type(value1)(fields) if type(value1) in (tuple, list) else _like(value1, fields)
        _only_field(at)
        return self._combine(value1, value2)


class FieldChoice(ReduceFunction):
    """Keeps the record whose field wins; on a tie the first."""

    def __init__(self, position: Position, wins: Callable[[Any, Any], bool]) -> None:
        self._position = check_position(position)
        self._wins = wins

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._position
        if isinstance(value1, (Row, tuple, list)):
            return value2 if self._wins(value2[at], value1[at]) else value1
        _only_field(at)
        return value2 if self._wins(value2, value1) else value1


def add(first: Any, second: Any) -> Any:
    return first + second


def smaller(first: Any, second: Any) -> Any:
    return second if second < first else first


def larger(first: Any, second: Any) -> Any:
    return second if second > first else first


def less_than(first: Any, second: Any) -> bool:
    return bool(first < second)


def greater_than(first: Any, second: Any) -> bool:
    return bool(first > second)


def check_position(position: Any) -> Position:
    """Raises ``TypeError`` for anything but an index or a field name."""
    if not isinstance(position, (int, str)) or isinstance(position, bool):
        raise TypeError(
            f"the field of sum, min, max, min_by and max_by is a position (int) or a name (str), "
            f"not {type(position).__name__}"
        )
    return position


def _only_field(position: Position) -> None:
    if position != 0:
        raise TypeError(f"a value that is no tuple, list or Row has only position 0, not {position!r}")


def _with_row_field(row: Row, position: Position, value: Any) -> Row:
    changed = row_of(list(row._values), row._fields, row.get_row_kind())
    changed[position] = value
    return changed


def _like(value: Any, fields: list[Any]) -> Any:
    make = getattr(value, "_make", None)  # named tuples
    return make(fields) if make is not None else tuple(fields)
