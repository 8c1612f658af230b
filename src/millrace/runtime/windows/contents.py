"""How the elements of a window are folded into one object, for operators that keep contents in tables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)


@dataclass(frozen=True)
class Fold:
    """``first`` makes an accumulator of one element; ``add(value, accumulator)`` gives the accumulator that follows.

    ``result`` makes of an accumulator what the window function iterates over. A fold whose result is None has nothing
    to show: as in Flink, the window function is not called.
    """

    first: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Iterable[Any] | None]


def fold_of(contents: StateDescriptor) -> Fold:
    """The fold of a window's contents."""
    if isinstance(contents, AggregatingStateDescriptor):
        return _aggregating(contents)
    if isinstance(contents, ReducingStateDescriptor):
        reduce = contents.get_reduce_function().reduce
        return Fold(_itself, lambda value, accumulator: reduce(accumulator, value), reduce, _one)
    assert isinstance(contents, ListStateDescriptor)
    return Fold(_list_of_one, _append, _concatenate, _itself)


def _aggregating(contents: AggregatingStateDescriptor) -> Fold:
    function = contents.get_agg_function()
    create, add, get_result = function.create_accumulator, function.add, function.get_result

    def first(value: Any) -> Any:
        return add(value, create())

    def result(accumulator: Any) -> tuple[Any] | None:
        value = get_result(accumulator)
        return None if value is None else (value,)

    return Fold(first, add, function.merge, result)


def _itself(value: Any) -> Any:
    return value


def _one(value: Any) -> tuple[Any]:
    return (value,)


def _list_of_one(value: Any) -> list[Any]:
    return [value]


def _append(value: Any, elements: list[Any]) -> list[Any]:
    elements.append(value)
    return elements


def _concatenate(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right
