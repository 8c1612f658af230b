"""Columns as bytes and back: the same values, for every type that a column may have, whatever the cuts are."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.spark.tables.steps.finishing import column_of, cut_sizes, plane_count, planes_of

UTC = datetime.timezone.utc
TEXT = st.text("aé∞", max_size=3)
SMALL = st.integers(-9, 9)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.null(): st.none(),
    pa.bool_(): st.booleans(),
    pa.int8(): SMALL,
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.sampled_from([0.5, -0.0, float("inf")]),
    pa.float64(): st.sampled_from([0.5, -0.0, float("inf")]),
    pa.string(): TEXT,
    pa.binary(): st.binary(max_size=3),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.duration("us"): st.timedeltas(datetime.timedelta(-9), datetime.timedelta(9)),
    pa.decimal128(38, 2): st.integers(-(10**37), 10**37).map(lambda cents: Decimal(cents).scaleb(-2)),
    pa.list_(pa.int32()): st.lists(st.none() | SMALL, max_size=3),
    pa.list_(pa.list_(pa.string())): st.lists(st.none() | st.lists(st.none() | TEXT, max_size=2), max_size=2),
    pa.struct([("a", pa.int64()), ("b", pa.string())]): st.fixed_dictionaries({"a": st.none() | SMALL, "b": TEXT}),
    pa.map_(pa.string(), pa.bool_()): st.dictionaries(TEXT, st.none() | st.booleans(), max_size=3).map(
        lambda entries: list(entries.items())
    ),
}


@st.composite
def columns(draw: st.DrawFn, kind: pa.DataType) -> tuple[pa.Array, list[Any]]:
    """A column, which may be a part of a longer one, and its values."""
    values = draw(st.lists(st.none() | VALUES[kind], max_size=12))
    start = draw(st.integers(0, len(values)))
    return pa.array(values, kind).slice(start), values[start:]


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(st.data())
def test_the_values_come_back(kind: pa.DataType, data: st.DataObject) -> None:
    column, values = data.draw(columns(kind))
    inner = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=4)))
    bounds = np.array([0, *inner, len(values)])
    planes = list(planes_of(column, bounds))
    assert len(planes) == plane_count(kind)
    assert cut_sizes(planes[0]).tolist() == np.diff(bounds).tolist()

    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(bounds) - 1)] * 2)))
    some = iter([plane.slice(first, last - first) for plane in planes])
    found = column_of(some, kind)
    found.validate(full=True)
    assert found.type == kind
    assert found.to_pylist() == values[bounds[first] : bounds[last]]
    assert next(some, None) is None, "it takes as many planes as it is said to"


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_what_lies_below_a_null_is_left_out(kind: pa.DataType) -> None:
    values = pa.array([None, None], kind)
    (known, *others) = planes_of(values, np.array([0, 2]))
    assert known.to_pylist() == [b"\0\0"]
    if kind in (pa.string(), pa.binary()):
        full = pa.array(["long", "longer"], pa.string()).cast(kind)
        below = pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\0"), *full.buffers()[1:]])
        assert [plane.to_pylist() for plane in planes_of(below, np.array([0, 2]))] == [
            [b"\0\0"], [b"\0" * 8], [b""],
        ]  # fmt: skip
    else:
        assert len(others) == plane_count(kind) - 1


def test_a_plane_beyond_two_gigabytes_is_refused() -> None:
    column = pa.array([None], pa.int64())
    with pytest.raises(OverflowError, match="do not fit into a binary column"):
        list(planes_of(column, np.array([0, 2**31])))
