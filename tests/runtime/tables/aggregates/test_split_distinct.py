"""DISTINCT aggregates of several tasks, merged: against sets of all values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, few, harness, rows_of, table_of

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import Ref
from millrace.relational.rows import DELETE, INSERT
from millrace.runtime.elements import Chunk
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.split_distinct import (
    BucketColumn,
    DistinctAggregate,
    shared_values,
    without_distinct,
)
from millrace.runtime.tables.exchange import ByColumns

TYPES = (t.VarCharType(1), t.IntType(), t.IntType())
VALUE, OTHER = Ref(TYPES[1], 1), Ref(TYPES[2], 2)
CALLS = (
    aggregate_call("COUNT", (VALUE,), distinct=True),
    aggregate_call("SUM", (VALUE,), distinct=True),
    aggregate_call("SUM", (OTHER,)),
)
TASKS = 3
ROWS = st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 9))


@pytest.mark.parametrize("keys", [(0,), ()])
@few
@given(st.data())
def test_three_tasks(keys: tuple[int, ...], data: st.DataObject) -> None:
    key_types = TYPES[: len(keys)]
    values = shared_values(CALLS, True)
    assert values == (VALUE,)
    first = DistinctAggregate(keys=keys, key_types=key_types, bucket=3, calls=CALLS, retracts=True)
    second = GroupAggregate(keys=keys, key_types=key_types, calls=without_distinct(CALLS), retracts=True, partial=True)
    left: list[Any] = []
    route = ByColumns((*keys, 3)).router(0, 1, TASKS)
    tasks = [harness(first).open() for _ in range(TASKS)]
    with harness(BucketColumn(values=values)) as buckets, harness(second) as merged:
        for _ in range(data.draw(st.integers(1, 4))):
            changes = []
            for row, takes_back in data.draw(st.lists(st.tuples(ROWS, st.booleans()))):
                if left and takes_back:
                    changes.append((DELETE, left.pop()))
                else:
                    changes.append((INSERT, row))
                    left.append(row)
            if changes:
                buckets.process_element(rows_of(changes, TYPES))
            for batch in buckets.take_output():
                for target, chunk in route(Chunk([batch.value])):  # type: ignore[union-attr]
                    tasks[target].process_element(chunk.values[0])
            for task in tasks:
                task.end_epoch()
                for batch in task.take_output():
                    merged.process_element(batch.value)  # type: ignore[union-attr]
            merged.end_epoch()
        found = table_of(changes_of(merged.values))
    groups: dict[Any, list[Any]] = {}
    for row in left:
        groups.setdefault(row[: len(keys)], []).append(row)
    assert found == {
        (*key, len({row[1] for row in rows}), sum({row[1] for row in rows}), sum(row[2] for row in rows)): 1
        for key, rows in groups.items()
    }


def test_what_is_not_split() -> None:
    assert shared_values([*CALLS, aggregate_call("COUNT", (OTHER,), distinct=True)], False) is None
    assert shared_values([*CALLS, aggregate_call("COLLECT", (OTHER,))], False) is None
    assert shared_values([*CALLS, aggregate_call("MAX", (OTHER,))], True) is None
    assert shared_values([*CALLS, aggregate_call("MAX", (OTHER,))], False) == (VALUE,)
    assert shared_values([replace(call, distinct=False) for call in CALLS], False) is None
