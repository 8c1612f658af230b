"""Columns are cut to what their declared type has."""

from __future__ import annotations

import datetime as dt
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational import types as t
from millrace.relational.precision import canonical, cut_digits
from millrace.relational.type_table import arrow_type

TIMES = st.none() | st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))


def floor(value: dt.datetime | None, precision: int) -> dt.datetime | None:
    """The digits of a second that are there, one after the other."""
    if value is None:
        return None
    return value.replace(microsecond=int(f"{value.microsecond:06d}"[:precision].ljust(6, "0")))


@given(st.lists(TIMES), st.integers(0, 9), st.integers(0, 5))
def test_times_have_the_digits_of_their_type(values: list[Any], precision: int, begin: int) -> None:
    column = pa.array(values, pa.timestamp("us")).slice(begin)
    wanted = [floor(value, precision) for value in values[begin:]]
    assert cut_digits(column, precision).to_pylist() == wanted
    assert canonical(column, t.TimestampType(precision)).to_pylist() == wanted


@given(st.lists(st.none() | st.lists(TIMES)), st.integers(0, 3), st.integers(0, 5))
def test_times_inside_of_others(values: list[Any], begin: int, precision: int) -> None:
    def cut(each: Any) -> Any:
        return None if each is None else [floor(part, precision) for part in each]

    kind = t.TimestampType(precision)
    lists = pa.array(values, pa.list_(pa.timestamp("us"))).slice(begin)
    assert canonical(lists, t.ArrayType(kind)).to_pylist() == [cut(each) for each in values[begin:]]
    row = t.RowType([t.RowField("a", t.IntType()), t.RowField("b", t.ArrayType(kind))])
    rows = pa.array([None if each is None else {"a": 1, "b": each} for each in values], arrow_type(row)).slice(begin)
    assert canonical(rows, row).to_pylist() == [
        None if each is None else {"a": 1, "b": cut(each)} for each in values[begin:]
    ]
    maps = t.MapType(t.IntType(), kind)
    entries = [None if each is None else list(enumerate(each)) for each in values]
    found = canonical(pa.array(entries, arrow_type(maps)).slice(begin), maps).to_pylist()
    assert found == [None if each is None else list(enumerate(cut(each))) for each in values[begin:]]


@pytest.mark.parametrize("kind", [t.DoubleType(), t.FloatType()])
def test_there_is_one_nan(kind: t.DataType) -> None:
    width, form = (8, "<Q") if isinstance(kind, t.DoubleType) else (4, "<I")
    bits = (0x7FF8000000000000, 0xFFF8000000000001, 0x8000000000000000, 0x3FF0000000000000)
    if width == 4:
        bits = (0x7FC00000, 0xFFC00001, 0x80000000, 0x3F800000)
    data = pa.py_buffer(b"".join(struct.pack(form, each) for each in bits))
    column = pa.Array.from_buffers(arrow_type(kind), 4, [None, data])
    found = canonical(column, kind)
    numbers = found.view(pa.uint64() if width == 8 else pa.uint32()).to_pylist()
    assert numbers[0] == numbers[1], "equal to each other"
    assert numbers[2:] == list(bits[2:]), "-0.0 prints as -0.0, and stays"


@pytest.mark.parametrize("kind", [t.TimestampType(6), t.IntType(), t.ArrayType(t.string()), t.DateType()])
def test_what_is_complete_stays_the_same_object(kind: t.DataType) -> None:
    column = pa.nulls(3, arrow_type(kind))
    assert canonical(column, kind) is column
