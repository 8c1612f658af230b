"""Rows of equal keys put together: the same rows as before, in their order, whatever the batches are."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as s

from millrace.spark.tables.steps import packing
from millrace.spark.tables.steps.packing import PackTask, can_pack, unpacked

KEYS = st.tuples(
    st.none() | st.sampled_from([0.0, -0.0, math.nan, 1.5]), st.none() | st.sampled_from(["", "a", "b"])
)
VALUES = st.none() | st.integers(-9, 9)
ROWS = st.lists(st.tuples(KEYS, VALUES, st.none() | st.lists(st.integers(0, 3), max_size=2), VALUES))
TYPES = [pa.float64(), pa.string(), pa.int64(), pa.list_(pa.int64()), pa.int64()]


def in_batches(rows: list[Any], size: int) -> list[pa.RecordBatch]:
    flat = [(*key, *values) for key, *values in rows]
    found = []
    for at in range(0, len(flat), size):
        columns = [pa.array(column, kind) for column, kind in zip(zip(*flat[at : at + size]), TYPES)]
        found.append(pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(TYPES))]))
    return found


def name_of(key: Any) -> Any:
    """One name for all NaN and for both zeros, as Spark compares them."""
    number, text = key
    return ("nan" if number is not None and math.isnan(number) else number), text


@given(ROWS, st.integers(1, 4), st.integers(1, 9))
def test_rows_stay_with_their_keys_in_their_order(rows: list[Any], size: int, lot: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "MOST_ROWS", lot)
        found = list(PackTask(2, (2, 1))(in_batches(rows, size)))
    pairs, singles = defaultdict(list), defaultdict(list)
    for batch in found:
        for row in batch.to_pylist():
            key = name_of((row["c0"], row["c1"]))
            pairs[key] += [(each["a0"], each["a1"]) for each in row["c2"]]
            singles[key] += [each["a0"] for each in row["c3"]]
    expected_pairs, expected_singles = defaultdict(list), defaultdict(list)
    for key, first, second, third in rows:
        expected_pairs[name_of(key)].append((first, second))
        expected_singles[name_of(key)].append(third)
    assert pairs == expected_pairs
    assert singles == expected_singles


def test_a_lot_is_one_batch_with_one_row_a_key() -> None:
    rows = [((float(at % 3), "a"), at, None, None) for at in range(12)]
    (found,) = PackTask(2, (1,))(in_batches(rows, 5))
    assert found.column(2).to_pylist() == [[{"a0": at} for at in range(key, 12, 3)] for key in range(3)]


def test_lists_of_lists_become_lists_of_rows() -> None:
    row = pa.struct([("a0", pa.int64())])
    nested = [[[{"a0": 1}], [{"a0": 2}, {"a0": 3}]], [], [[{"a0": 4}]]]
    assert unpacked(pa.array(nested, pa.list_(pa.list_(row)))).to_pylist() == [
        [{"a0": 1}, {"a0": 2}, {"a0": 3}],
        [],
        [{"a0": 4}],
    ]
    sliced = pa.array([[[{"a0": 9}]], *nested], pa.list_(pa.list_(row))).slice(1)
    assert unpacked(sliced).to_pylist() == unpacked(pa.array(nested, pa.list_(pa.list_(row)))).to_pylist()
    plain = pa.array([[{"a0": 1}], []], pa.list_(row))
    assert unpacked(plain) is plain


def test_keys_that_arrow_cannot_group() -> None:
    assert can_pack([s.LongType(), s.StringType()])
    assert not can_pack([s.LongType(), s.ArrayType(s.IntegerType())])
