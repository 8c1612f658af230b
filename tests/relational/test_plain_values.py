"""Values of columns, against those that Arrow gives one by one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from millrace.relational.values import plain_values

FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None, FIRST, LAST], pa.timestamp("us")),
        pa.array([None, 0, -1, 10**15 + 1], pa.timestamp("us", "UTC")),
        pa.array([None, FIRST.date(), LAST.date()], pa.date32()),
        pa.array([None, -5, 10**15], pa.duration("us")),
        pa.array([None, 1, 86_399_999_999], pa.time64("us")),
        pa.array([1, None]),
        pa.array(["a", None]),
        pa.array([], pa.timestamp("us")),
        pa.array([None], pa.date32()),
        pa.chunked_array([[FIRST], [None]], pa.timestamp("us")),
        pa.array([None, FIRST, LAST], pa.timestamp("us")).slice(1, 1),
    ],
    ids=lambda column: str(column.type),
)
def test_as_arrow_gives_them(column: Any) -> None:
    assert plain_values(column) == column.to_pylist()
