"""``Fold``: what elements of a window are folded into, and what the window function gets of it."""

from __future__ import annotations

from typing import Any

from millrace.common.typeinfo import Types
from millrace.datastream.functions import AggregateFunction
from millrace.datastream.state import AggregatingStateDescriptor, ListStateDescriptor, ReducingStateDescriptor
from millrace.runtime.windows.window_contents import Fold, fold_of

ANYTHING = Types.PICKLED_BYTE_ARRAY()


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: int, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] > 1 else None

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def folded(fold: Fold, *values: Any) -> Any:
    accumulator = fold.first(values[0])
    for value in values[1:]:
        accumulator = fold.add(value, accumulator)
    return accumulator


def test_lists() -> None:
    fold = fold_of(ListStateDescriptor("all", ANYTHING))
    assert folded(fold, 3, 1, 2) == [3, 1, 2]
    assert fold.merge([1], [2, 3]) == [1, 2, 3]
    assert fold.result([1, 2]) == [1, 2]
    assert fold.result([None]) == [None]


def test_reducing() -> None:
    fold = fold_of(ReducingStateDescriptor("all", lambda left, right: f"({left} {right})", ANYTHING))
    assert folded(fold, "a", "b", "c") == "((a b) c)", "what is there comes first"
    assert fold.merge("a", "b") == "(a b)"
    assert fold.result("a") == ("a",)


def test_aggregating() -> None:
    fold = fold_of(AggregatingStateDescriptor("all", Mean(), ANYTHING))
    assert folded(fold, 1, 2, 6) == (9, 3)
    assert fold.merge((1, 1), (2, 1)) == (3, 2)
    assert fold.result((9, 3)) == (3.0,)


def test_a_result_of_none_is_no_result() -> None:
    fold = fold_of(AggregatingStateDescriptor("all", Mean(), ANYTHING))
    assert fold.result(fold.first(1)) is None
