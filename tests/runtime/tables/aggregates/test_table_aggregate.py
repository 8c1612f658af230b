"""``TableAggregateOperator``: the two largest values of each key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, run

from millrace.common.types import Row as UserRow
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Ref
from millrace.relational.rows import DELETE, INSERT
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.table.udf import TableAggregateFunction, udtaf
from millrace.testing import EndInput, EpochEnd, Step

TYPES = (t.VarCharType(1), t.IntType())
RESULT = t.RowType([t.RowField("value", t.IntType()), t.RowField("place", t.BigIntType())])


class Top2(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2], 1):
            yield UserRow(value, place)


def config(function: Any, types: tuple[t.DataType, ...] = (t.IntType(), t.BigIntType())) -> TableAggregate:
    wrapped = udtaf(function, result_type=RESULT, accumulator_type=t.ArrayType(t.IntType()))
    call = AggCall("top2", (Ref(TYPES[1], 1),), RESULT, udf=wrapped)
    return TableAggregate(keys=(0,), key_types=TYPES[:1], call=call, types=types)


@few
@given(st.data())
def test_against_the_rows_that_are_left(data: st.DataObject) -> None:
    script: list[Step] = []
    left: list[Any] = []
    for row in data.draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=10)):
        if left and data.draw(st.integers(0, 2)) == 0:
            script.append(element(left.pop(data.draw(st.integers(0, len(left) - 1))), TYPES, DELETE))
        else:
            script.append(element(row, TYPES))
            left.append(row)
    expected = [
        (key, value, place)
        for key in "ab"
        for place, value in enumerate(sorted((n for k, n in left if k == key), reverse=True)[:2], 1)
    ]
    check_table(config(Top2()), [*script, EndInput()], expected)


def test_only_what_changes() -> None:
    one, two, three = (element(("a", number), TYPES) for number in (1, 3, 2))
    script = [one, two, EpochEnd(), three, EndInput()]
    assert run(config(Top2()), script) == [
        (INSERT, ("a", 3, 1)),
        (INSERT, ("a", 1, 2)),
        (DELETE, ("a", 1, 2)),
        (INSERT, ("a", 2, 2)),
    ]


def test_rows_of_another_width() -> None:
    with pytest.raises(OperatorError, match="3 columns"):
        run(config(Top2(), (t.IntType(), t.BigIntType(), t.IntType())), [element(("a", 1), TYPES), EndInput()])
