"""Hashes of columns are those of ``keygroups``, value by value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ids import shown

from millrace.runtime.exchange.keys import key_group, stable_hash, subtask_of_group
from millrace.runtime.tables.columns.key_hashes import key_hashes, key_subtasks
from millrace.runtime.tables.columns.keys import key_tuples

EDGES = [0, 1, -1, *(sign * (2**power + step) for power in range(7, 63, 8) for sign in (1, -1) for step in (-1, 0, 1))]

COLUMNS = {
    "bigint": pa.array([*EDGES, 2**63 - 1, -(2**63), None], pa.int64()),
    "int": pa.array([0, -(2**31), 2**31 - 1, None, 77], pa.int32()),
    "tinyint": pa.array([0, -128, 127, None], pa.int8()),
    "boolean": pa.array([True, False, None]),
    "text": pa.array(["", "a", "ä€", "a", "long" * 50]),
    "text with NULL": pa.array(["a", None, "a"]),
    "bytes": pa.array([b"", b"ab", None]),
    "double": pa.array([0.0, -0.0, 1.0, 0.5, float("nan"), float("inf"), None]),
    "decimal": pa.array([Decimal("1.00"), Decimal("1.25"), None], pa.decimal128(10, 2)),
    "timestamp": pa.array([dt.datetime(2024, 5, 6, 7, 8), None], pa.timestamp("us")),
    "date": pa.array([dt.date(2024, 5, 6), None]),
    "list": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
    "empty": pa.array([], pa.int64()),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_one_column(column: pa.Array) -> None:
    expected = [stable_hash(key) for key in key_tuples([column], len(column))]
    assert key_hashes([column], len(column)).tolist() == expected


def test_slices_and_chunks() -> None:
    column = pa.array(["x", "a", "b", "a"])
    expected = [stable_hash((each,)) for each in ("a", "b", "a")]
    assert key_hashes([column.slice(1)], 3).tolist() == expected
    assert key_hashes([pa.chunked_array([column.slice(1, 1), column.slice(2)])], 3).tolist() == expected


def test_no_columns() -> None:
    assert key_hashes([], 2).tolist() == [stable_hash(())] * 2


keys = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.text(st.characters(exclude_categories=("Cs",)))
)


@pytest.mark.parametrize(("most", "parallelism"), [(128, 2), (128, 3), (32768, 7)], ids=shown)
@given(rows=st.lists(keys, max_size=30))
def test_subtasks(rows: list[tuple[Any, ...]], most: int, parallelism: int) -> None:
    columns = [pa.array([row[0] for row in rows], pa.int64()), pa.array([row[1] for row in rows], pa.string())]
    expected = [subtask_of_group(key_group(row, most), most, parallelism) for row in rows]
    assert key_subtasks(columns, len(rows), most, parallelism).tolist() == expected
