"""The last row of each key, against a dict."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.stores import last_rows
from millrace.relational.rows import Rows


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.string()], ids=str)
@given(keys=st.lists(st.integers(-3, 3), max_size=12))
def test_one_row_of_each_key_stays(kind: pa.DataType, keys: list[int]) -> None:
    column = pa.array([0, *keys], pa.int64()).cast(kind).slice(1)
    rows = Rows(pa.record_batch([column, pa.array(range(len(keys)), pa.int64())], ["k", "v"]))
    last = dict(zip(column.to_pylist(), range(len(keys)), strict=True))
    found = last_rows(rows, ["k"], [0], "t").batch
    assert list(zip(*found.to_pydict().values(), strict=True)) == sorted(last.items())
