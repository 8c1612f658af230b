"""Values, keys, timestamps and marks come out of a packet as they went in, with their types."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row, RowKind
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange.codec import decode, encode


class Point(NamedTuple):
    x: int
    y: int


class Level(enum.IntEnum):
    LOW = 1


def back(chunk: Chunk, marks: list[Any]) -> tuple[Chunk, list[Any]]:
    """The chunk in one piece again, and the marks with their positions."""
    whole, found = Chunk([], [], []), []
    for item in decode(encode(chunk, marks)):
        if isinstance(item, Chunk):
            assert (item.keys is None) == (chunk.keys is None)
            assert (item.timestamps is None) == (chunk.timestamps is None)
            whole.values += item.values
            whole.timestamps = (whole.timestamps or []) + (item.timestamps or [])
            whole.keys = (whole.keys or []) + (item.keys or [])
        else:
            found.append((len(whole.values), item))
    return whole, found


def typed(values: Any) -> list[tuple[type, str]]:
    return [(type(value), repr(value)) for value in values]


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ROWS = st.lists(PLAIN, min_size=2, max_size=2).map(lambda fields: Row(**dict(zip("ab", fields))))
VALUES = (
    PLAIN
    | st.tuples(PLAIN, PLAIN)
    | st.lists(PLAIN, max_size=2).map(tuple)
    | ROWS
    | st.lists(PLAIN, max_size=2).map(lambda fields: Row(*fields))
    | st.tuples(PLAIN, st.lists(PLAIN, max_size=2))
    | st.sampled_from([Decimal("1.50"), Point(1, 2), Level.LOW, np.int64(7), np.float64(0.5), bytearray(b"x"), {1: 2}])
)


@given(st.data())
def test_round_trip(data: st.DataObject) -> None:
    kinds = data.draw(st.sampled_from([PLAIN, st.tuples(PLAIN, PLAIN), ROWS, VALUES]))
    values = data.draw(st.lists(kinds, max_size=6))
    size = len(values)
    times = st.lists(st.none() | st.integers(), min_size=size, max_size=size)
    timestamps = data.draw(st.none() | times)
    keys = data.draw(st.none() | st.lists(VALUES, min_size=size, max_size=size))
    statuses = st.sampled_from(list(Status))
    marks = sorted(
        data.draw(st.lists(st.tuples(st.integers(0, len(values)), st.integers() | statuses), max_size=4)),
        key=lambda mark: mark[0],
    )
    chunk, found = back(Chunk(values, timestamps, keys), marks)
    assert typed(chunk.values) == typed(values)
    assert chunk.timestamps == (timestamps or [])
    assert typed(chunk.keys or []) == typed(keys or [])
    assert found == marks


def test_rows_keep_names_and_kind() -> None:
    deleted = Row(a=1, b=2)
    deleted.set_row_kind(RowKind.DELETE)
    for rows in ([Row(a=1, b="x"), Row(a=None, b="y")], [Row(a=1), Row(b=1)], [Row(1, 2)], [Row(a=1, b=2), deleted]):
        chunk, _ = back(Chunk(rows), [])
        assert chunk.values == rows
        assert [row._fields for row in chunk.values] == [row._fields for row in rows]
        assert [row.get_row_kind() for row in chunk.values] == [row.get_row_kind() for row in rows]


@pytest.mark.parametrize("number", [np.int64(5), np.uint8(5), np.bool_(True), np.datetime64("2024-01-01")])
def test_numbers_of_numpy_stay_numbers(number: Any) -> None:
    """Marshal would make bytes of them."""
    values = [number, (1, number), Row(a=number)]
    for value in values:
        chunk, _ = back(Chunk([value], [1], [value]), [])
        assert typed(chunk.values) == typed([value])
        assert typed(chunk.keys or []) == typed([value])


def test_times_of_numpy_stay_numbers() -> None:
    chunk, _ = back(Chunk(["a"], [np.int64(5)]), [])  # type: ignore[list-item]
    assert chunk.timestamps == [5]
    _, marks = back(Chunk(["a"], [5]), [(1, np.int64(4))])
    assert marks == [(1, 4)]
