"""What vectorised functions are given."""

from __future__ import annotations

import pyarrow as pa

from millrace.runtime.functions.vectors import to_pandas


def test_fields_of_a_row_inside_a_row_take_its_place() -> None:
    inner = pa.array([{"c": 2, "d": {"e": "x"}}, None])
    column = pa.StructArray.from_arrays([pa.array([1, 5]), inner, pa.array([3.5, None])], ["a", "b", "f"])
    frame = to_pandas(column)
    assert list(frame.columns) == ["a", "c", "e", "f"]
    assert frame.iloc[0].tolist() == [1, 2, "x", 3.5]
    assert frame["a"].tolist() == [1, 5]


def test_of_no_rows_and_of_no_fields() -> None:
    column = pa.array([], pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))]))
    assert list(to_pandas(column).columns) == ["a", "c"]
    assert len(to_pandas(pa.array([{}, {}], pa.struct([])))) == 2
