"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` as reduce functions on one field.

They work on tuples, lists, rows and plain values (position 0). Never in place: the argument may be state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.functions import ReduceFunction
from millrace.common.types import Row, row_of

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
            index = _index(value1, at)
            fields = list(value1)
            fields[index] = self._combine(value1[index], value2[index])
            return _like(value1, fields)
        _only_field(at)
        return self._combine(value1, value2)


class FieldChoice(ReduceFunction):
    """Keeps the record whose field wins; on a tie the first."""

    def __init__(self, position: Position, wins: Callable[[Any, Any], bool]) -> None:
        self._position = check_position(position)
        self._wins = wins

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._position
        if isinstance(value1, (tuple, list)):
            at = _index(value1, at)
        if isinstance(value1, (Row, tuple, list)):
            return value2 if self._wins(value2[at], value1[at]) else value1  # type: ignore[index]
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


def _index(value: tuple[Any, ...] | list[Any], position: Position) -> int:
    """The position of a field; tuples have names only if they are named tuples."""
    if isinstance(position, int):
        return position
    names: tuple[str, ...] = getattr(value, "_fields", ())
    if position not in names:
        raise TypeError(f"a {type(value).__name__} has no field {position!r}; name its position")
    return names.index(position)


def _only_field(position: Position) -> None:
    if position != 0:
        raise TypeError(f"a value that is no tuple, list or Row has only position 0, not {position!r}")


def _with_row_field(row: Row, position: Position, value: Any) -> Row:
    changed = row_of(list(row._values), row._fields, row.get_row_kind())
    changed[position] = value
    return changed


def _like(value: Any, fields: list[Any]) -> Any:
    if isinstance(value, list):
        return fields
    make = getattr(value, "_make", None)  # named tuples
    return tuple(fields) if make is None else make(fields)
