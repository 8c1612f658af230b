"""Columns reduced by group, beside plain Python: also where each row is a group of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.tables.columns.keys import group_ids
from millrace.runtime.tables.columns.reduction import reduce_columns

INTS = st.none() | st.integers(-5, 5)
FLOATS = st.none() | st.sampled_from([0.5, -1.0, 3.0, math.nan])


def naive(values: list[Any], how: str) -> Any:
    """NaN is the largest number, as in Flink."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    order = [math.inf if isinstance(value, float) and math.isnan(value) else value for value in known]
    found = {
        "sum": lambda: sum(known),
        "first": lambda: known[0],
        "last": lambda: known[-1],
        "min": lambda: known[order.index(min(order))],
        "max": lambda: known[order.index(max(order))],
    }
    return found[how]()


@pytest.mark.parametrize("how", ["sum", "min", "max", "first", "last"])
@given(data=st.data(), keys=st.lists(st.none() | st.integers(0, 4), min_size=1, max_size=8), distinct=st.booleans())
def test_one_value_a_group(how: str, data: st.DataObject, keys: list[int | None], distinct: bool) -> None:
    if distinct:
        keys = list(range(len(keys)))
    ids, first = group_ids([pa.array(keys, pa.int64())], len(keys))
    numbers = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    assert ids.tolist() == [numbers[key] for key in keys]
    assert first.tolist() == [keys.index(key) for key in numbers]
    kinds = [(INTS, pa.int32())] if how == "sum" else [(INTS, pa.int32()), (FLOATS, pa.float64())]
    columns = [
        (data.draw(st.lists(values, min_size=len(keys), max_size=len(keys))), data_type) for values, data_type in kinds
    ]
    found = reduce_columns(ids, len(first), [(pa.array(values, data_type), how) for values, data_type in columns])
    for (values, _), column in zip(columns, found):
        wanted = [naive([value for value, key in zip(values, keys) if key == each], how) for each in numbers]
        assert [repr(value) for value in column.to_pylist()] == [repr(value) for value in wanted]


def test_a_group_without_rows_has_no_value() -> None:
    (found,) = reduce_columns(np.array([0, 2]), 3, [(pa.array([5, 7]), "max")])
    assert found.to_pylist() == [5, None, 7]
