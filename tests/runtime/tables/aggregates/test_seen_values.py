"""DISTINCT over insertions only: the values of each filter, against sets, and what a savepoint says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, harness

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import AggCall, Ref
from millrace.relational.rows import DELETE
from millrace.runtime.state.tables import MapTable
from millrace.runtime.tables.aggregates.append_only_distinct import SeenRows
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.testing import EndInput

TYPES = (t.VarCharType(10), t.IntType(), t.VarCharType(5), t.BooleanType(), t.BooleanType())
KEY, NUMBER, TEXT, FLAG, OTHER = (Ref(each, index) for index, each in enumerate(TYPES))
FILTERS = (None, FLAG, OTHER)
CALLS: tuple[AggCall, ...] = tuple(
    aggregate_call(name, args, distinct=True, filter=condition)
    for name, args in (("COUNT", [NUMBER]), ("SUM", [NUMBER]), ("COUNT", [TEXT]))
    for condition in FILTERS
)

flags = st.none() | st.booleans()
keys, numbers = st.none() | st.sampled_from("xy"), st.none() | st.integers(0, 3)
rows_given = st.lists(st.tuples(keys, numbers, st.sampled_from(["", "a"]), flags, flags), max_size=12)


def expected(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    found = []
    for key in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == key]
        parts = [mine, [row for row in mine if row[3]], [row for row in mine if row[4]]]
        values = [{row[1] for row in part if row[1] is not None} for part in parts]
        texts = [{row[2] for row in part} for part in parts]
        sums = [sum(each) if each else None for each in values]
        found.append((key, *map(len, values), *sums, *map(len, texts)))
    return found


@few
@given(rows=rows_given)
def test_values_of_each_filter(rows: list[tuple[Any, ...]]) -> None:
    config = GroupAggregate(keys=(0,), key_types=(TYPES[0],), calls=CALLS)
    check_table(config, [*(element(row, TYPES) for row in rows), EndInput()], expected(rows), disk=True)


def test_without_keys() -> None:
    rows = [("x", 1, "a", True, None), ("y", 1, "b", False, True), ("x", 2, "a", None, True)]
    config = GroupAggregate(keys=(), key_types=(), calls=CALLS)
    (whole,) = expected([("x", *row[1:]) for row in rows])
    check_table(config, [*(element(row, TYPES) for row in rows), EndInput()], [whole[1:]])


def test_rows_that_are_taken_back_are_refused() -> None:
    config = GroupAggregate(keys=(0,), key_types=(TYPES[0],), calls=CALLS)
    with harness(config) as run:
        run.process_element(element(("x", 1, "a", None, None), TYPES, DELETE).value)
        with pytest.raises(Exception, match="planned to have insertions only"):
            run.end_epoch()


def test_a_savepoint_has_counts_by_filter() -> None:
    counted: dict[Any, Any] = {
        ("x",): (True, {(1,): (2, 0, 1), (None,): (1, 0, 0)}, []),
        ("y",): (True, {(1,): (5, 3, 0)}, []),
    }
    seen = SeenRows([pa.string()], [pa.int64()])
    seen.filters = list(FILTERS)
    seen.apply(MapTable.only(counted, lambda key: True))
    assert seen.entries() == {
        ("x",): (True, {(1,): (1, 0, 1), (None,): (1, 0, 0)}, []),
        ("y",): (True, {(1,): (1, 1, 0)}, []),
    }
