"""Aggregate functions: on whole groups, and batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.runtime.functions.running import column, runner

from millrace.common.types import Row
from millrace.relational.rex import AggCall
from millrace.relational.types import BigIntType
from millrace.runtime.failure import OperatorError
from millrace.runtime.functions.aggregates import GroupFunction, UserAccumulators, of_entries
from millrace.table.udf import AggregateFunction, udaf

BIGINT = BigIntType()


class Sum(AggregateFunction[Any, Any]):
    """``fails`` is the method that raises."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails

    def _may_fail(self, method: str) -> None:
        if method == self.fails:
            raise OSError("broken")

    def create_accumulator(self) -> list[int]:
        self._may_fail("create_accumulator")
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        self._may_fail("accumulate")
        accumulator[0] += args[0]

    def retract(self, accumulator: list[int], *args: Any) -> None:
        self._may_fail("retract")
        accumulator[0] -= args[0]

    def merge(self, accumulator: list[int], accumulators: Any) -> None:
        self._may_fail("merge")
        for each in accumulators:
            accumulator[0] += each[0]

    def get_value(self, accumulator: list[int]) -> int:
        self._may_fail("get_value")
        return accumulator[0]

    def emit_value(self, accumulator: list[int]) -> Any:
        self._may_fail("emit_value")
        yield from ([accumulator[0], 1], (accumulator[0], 2), Row(accumulator[0], 3))


def called(fails: str = "") -> AggCall:
    wrapper = udaf(Sum(fails), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>", name="total")
    return AggCall("total", (column(0, BIGINT),), BIGINT, udf=wrapper)


def vectorised() -> AggCall:
    wrapper = udaf(lambda series: series.max(), result_type="BIGINT", func_type="pandas", name="most")
    return AggCall("most", (column(0, BIGINT),), BIGINT, udf=wrapper)


NUMBERS = [pa.array([3, 4, 5])]


@pytest.mark.parametrize(("call", "expected"), [(called(), 12), (vectorised(), 5)], ids=["rows", "vectors"])
def test_whole_groups(call: AggCall, expected: int) -> None:
    with runner(call.udf) as functions:
        function = GroupFunction(functions, call)
        value = function.value(NUMBERS, 3)
        assert (value, type(value)) == (expected, int)
        assert function.column([value, None]).to_pylist() == [expected, None]


def test_rows_of_a_group() -> None:
    call = called()
    with runner(call.udf) as functions:
        function = GroupFunction(functions, call)
        assert [tuple(row) for row in function.rows(NUMBERS, 3, 2)] == [(12, 1), (12, 2), (12, 3)]
        with pytest.raises(OperatorError, match=r"in emit_value\(\) of total"):
            function.rows(NUMBERS, 3, 3)


def test_entries_of_a_vectorised_function() -> None:
    call = vectorised()
    with runner(call.udf) as functions:
        value = of_entries(GroupFunction(functions, call), call, [pa.int64()])
        assert value([((7,), [1, 3]), ((9,), [2])]) == 9


def updated(call: AggCall, signs: list[int]) -> tuple[UserAccumulators, list[Any], Any]:
    functions = runner(call.udf)
    functions.open()
    accumulators = UserAccumulators(GroupFunction(functions, call))
    slots: list[Any] = [None, None, None]
    accumulators.update(np.array([0, 1, 0]), NUMBERS, pa.array(signs), slots)
    return accumulators, slots, functions


def test_accumulators_change_with_their_rows() -> None:
    accumulators, slots, _ = updated(called(), [1, 0, 1])
    assert slots == [[8], None, None]
    accumulators.update(np.array([0, 1]), [pa.array([3, 4])], pa.array([-1, 1]), slots)
    assert accumulators.results(slots).to_pylist() == [5, 4, 0]
    assert accumulators.absorb(slots[0], slots[1]) == [9]
    assert accumulators.absorb(None, slots[1]) is slots[1]
    assert accumulators.absorb(slots[0], None) is slots[0]


@pytest.mark.parametrize("method", ["accumulate", "retract", "create_accumulator"])
def test_an_error_names_the_method_and_the_row(method: str) -> None:
    with pytest.raises(OperatorError) as failure:
        updated(called(method), [1, 1, 1] if method != "retract" else [1, 1, -1])
    assert f"failed in {method}() of total" in str(failure.value)
    rows = {"accumulate": "element: (3,)", "retract": "element: (5,)", "create_accumulator": "OSError: broken"}
    assert rows[method] in str(failure.value)


@pytest.mark.parametrize("method", ["merge", "get_value"])
def test_an_error_of_results_names_the_method(method: str) -> None:
    accumulators, slots, _ = updated(called(method), [1, 1, 1])
    with pytest.raises(OperatorError, match=rf"in {method}\(\) of total"):
        accumulators.results(slots) if method == "get_value" else accumulators.absorb(slots[0], slots[1])
