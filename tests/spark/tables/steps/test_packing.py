"""Rows of equal keys put together: the same rows as before, in their order, whatever the batches are."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import types as s

from millrace.relational import types as t
from millrace.spark.tables.steps import finishing
from millrace.spark.tables.steps.finishing import PackedCall, PackTask, can_pack

KEYS = st.tuples(st.none() | st.sampled_from([0.0, -0.0, math.nan, 1.5]), st.none() | st.sampled_from(["", "a", "b"]))
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


PAIR = PackedCall((t.BigIntType(), t.ArrayType(t.BigIntType())), False)
SINGLE = PackedCall((t.BigIntType(),), False)
FILTERED = PackedCall((t.BigIntType(),), True)


def unpacked(call: PackedCall, batches: list[pa.RecordBatch], place: int) -> dict[Any, list[Any]]:
    """What Spark and the finisher make of a call's values: the rows of each key."""
    values: dict[Any, list[Any]] = defaultdict(list)
    for batch in batches:
        keys = zip(*(column.to_pylist() for column in batch.columns[:2]))
        for key, value in zip(keys, batch.column(place).to_pylist()):
            values[name_of(key)].append(value)
    kind = pa.struct([(field.name, pa.binary()) for field in call.spark_type.fields])
    # A group before them, as in a batch whose first groups have been taken.
    lists = pa.array([[], *values.values()], pa.list_(kind)).slice(1)
    rows = call.unpacked(lists)
    rows.validate(full=True)
    return {key: [tuple(row.values()) for row in found] for key, found in zip(values, rows.to_pylist())}


@given(ROWS, st.integers(1, 4), st.integers(1, 9))
@example([((zero, None), number, None, number) for number, zero in enumerate([-0.0, 0.0, -0.0])], 3, 9)
def test_rows_stay_with_their_keys_in_their_order(rows: list[Any], size: int, lot: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(finishing, "MOST_ROWS", lot)
        found = list(PackTask(2, (PAIR, SINGLE))(in_batches(rows, size)))
    pairs, singles = defaultdict(list), defaultdict(list)
    for key, first, second, third in rows:
        pairs[name_of(key)].append((first, second))
        singles[name_of(key)].append((third,))
    assert unpacked(PAIR, found, 2) == pairs
    assert unpacked(SINGLE, found, 3) == singles


@given(ROWS, st.integers(1, 4), st.integers(1, 9))
def test_a_condition_is_of_its_call_only(rows: list[Any], size: int, lot: int) -> None:
    columns = []
    for batch in in_batches(rows, size):
        flags = pa.array([None if each is None else each > 0 for each in batch[4].to_pylist()], pa.bool_())
        arrays = [*batch.columns[:3], flags, batch[2]]
        columns.append(pa.RecordBatch.from_arrays(arrays, [f"c{at}" for at in range(5)]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(finishing, "MOST_ROWS", lot)
        found = list(PackTask(2, (FILTERED, SINGLE))(columns))
    some, every = defaultdict(list), defaultdict(list)
    for key, first, _, third in rows:
        some[name_of(key)] += [(first,)] if third is not None and third > 0 else []
        every[name_of(key)].append((first,))
    assert unpacked(FILTERED, found, 2) == some
    assert unpacked(SINGLE, found, 3) == every


def test_a_lot_is_one_batch_with_one_row_a_key() -> None:
    rows = [((float(at % 3), "a"), at, None, None) for at in range(12)]
    (found,) = PackTask(2, (SINGLE,))(in_batches(rows, 5))
    assert found.num_rows == 3
    assert unpacked(SINGLE, [found], 2) == {(key, "a"): [(at,) for at in range(key, 12, 3)] for key in range(3)}


def test_keys_that_arrow_cannot_group() -> None:
    assert can_pack([s.LongType(), s.StringType()])
    assert not can_pack([s.LongType(), s.ArrayType(s.IntegerType())])


def test_without_keys_all_rows_are_of_one_group() -> None:
    batches = [pa.RecordBatch.from_arrays([pa.array([at, None])], ["c0"]) for at in range(3)]
    (found,) = PackTask(0, (SINGLE,))(batches)
    assert found.schema.names == ["c0"]
    lists = pa.ListArray.from_arrays([0, 1], found.column(0))
    assert SINGLE.unpacked(lists).to_pylist() == [[{"a0": each} for each in (0, None, 1, None, 2, None)]]


def test_places_of_64_bits() -> None:
    (found,) = PackTask(0, (SINGLE,))([pa.RecordBatch.from_arrays([pa.array([7, None])], ["c0"])])
    wide = found.column(0).cast(pa.struct([(field.name, pa.large_binary()) for field in SINGLE.spark_type.fields]))
    assert SINGLE.unpacked(pa.ListArray.from_arrays([0, 1], wide)).to_pylist() == [[{"a0": 7}, {"a0": None}]]
