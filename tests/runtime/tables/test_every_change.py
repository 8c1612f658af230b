"""``every_change``: a batch gives what its rows give one by one, each in a slice of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, element, few, harness, outcomes, rows_of, run

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import AggCall, Ref, SortKey
from millrace.relational.rows import DELETE, INSERT
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.changelog import ChangelogNormalize, UpsertMaterialize
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.table.udf import TableAggregateFunction, udtaf
from millrace.testing import EpochEnd

TYPES = (t.VarCharType(2), t.BigIntType())
NUMBER = Ref(TYPES[1], 1)
Row = tuple[Any, ...]


class Largest(TableAggregateFunction):
    """The two largest numbers."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, number: Any) -> None:
        accumulator.append(number)

    def retract(self, accumulator: Any, number: Any) -> None:
        accumulator.remove(number)

    def emit_value(self, accumulator: Any) -> Any:
        yield from ((number,) for number in sorted(accumulator)[-2:])


def table_aggregate() -> TableAggregate:
    result = t.RowType([t.RowField("number", t.BigIntType())])
    function = udtaf(Largest(), result_type=result, accumulator_type=t.ArrayType(t.BigIntType()))
    call = AggCall("largest", (NUMBER,), result, udf=function)
    return TableAggregate(keys=(0,), key_types=TYPES[:1], call=call, types=(t.BigIntType(),))


RANK = Rank(partition=(0,), order=(SortKey(NUMBER, descending=True),), types=TYPES, last=2)
INSERTIONS: dict[str, TableConfig] = {
    "first rows": RANK,
    "first rows with ranks": replace(RANK, number=True),
    "last row": Deduplicate(keys=(0,), types=TYPES, last=True),
    "row of the largest time": Deduplicate(keys=(0,), types=(TYPES[0], t.TimestampType(3)), last=True, time=1),
    "upserts": ChangelogNormalize(keys=(0,), types=TYPES),
}
CHANGES: dict[str, TableConfig] = {
    "first rows of changes": replace(RANK, retracts=True),
    "ranks of changes": replace(RANK, retracts=True, number=True),
    "rows before a sink": UpsertMaterialize(keys=(0,), types=TYPES),
    "table aggregate": table_aggregate(),
    "groups": GroupAggregate(keys=(0,), key_types=TYPES[:1], calls=(aggregate_call("MAX", (NUMBER,)),), retracts=True),
    "all rows": GroupAggregate(
        keys=(), key_types=(), calls=(aggregate_call("COUNT", (NUMBER,), distinct=True),), retracts=True
    ),
}


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[Row, bool]]:
    """(row, whether it is taken back)."""
    found: list[tuple[Row, bool]] = []
    left: list[Row] = []
    for row in draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), max_size=12)):
        if left and draw(st.integers(0, 2)) == 0:
            found.append((left.pop(draw(st.integers(0, len(left) - 1))), True))
        else:
            left.append(row)
            found.append((row, False))
    return found


def one_by_one(config: TableConfig, script: Sequence[tuple[Row, bool]], types: Sequence[t.DataType]) -> Any:
    steps = [(element(row, types, DELETE if gone else INSERT), EpochEnd()) for row, gone in script]
    return run(config, [each for pair in steps for each in pair])


@pytest.mark.parametrize("name", [*INSERTIONS, *CHANGES])
@few
@given(script=scripts())
def test_a_batch_gives_what_its_rows_give(name: str, script: list[tuple[Row, bool]]) -> None:
    config = INSERTIONS.get(name) or CHANGES[name]
    types = (TYPES[0], t.TimestampType(3)) if name == "row of the largest time" else TYPES
    chosen = [each for each in script if name in CHANGES or not each[1]]
    expected = one_by_one(config, chosen, types)
    steps = [element(row, types, DELETE if gone else INSERT) for row, gone in chosen]
    for variant, outcome in outcomes(replace(config, every_change=True), [*steps, EpochEnd()]):
        assert changes_of(outcome.values) == expected, variant


def test_the_changes_of_a_batch_are_one_batch() -> None:
    with harness(replace(RANK, every_change=True)) as found:
        found.process_element(rows_of([(INSERT, ("a", number)) for number in range(5)], TYPES))
        found.end_epoch()
        assert [len(rows) for rows in found.values] == [8]
