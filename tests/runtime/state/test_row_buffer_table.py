"""Rows that wait: what a copy has after deltas, and what is left of them after a rescale."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.state import row_buffer_table
from millrace.runtime.state.row_buffer_table import RowBufferTable

Model = list[tuple[int, int, int]]
"""(key, time, kind) in the order of arrival"""


def table() -> RowBufferTable:
    made = RowBufferTable()
    made.describe([pa.int64(), pa.int64()], (0,))
    return made


def add(target: RowBufferTable, rows: Model) -> None:
    columns = [pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1)]
    kinds = np.array([row[2] for row in rows], np.uint8)
    times = np.array([row[1] for row in rows], np.int64)
    target.add(Rows(record_batch(columns, len(rows)), kinds if kinds.any() else None), times)


def rows_of(parts: list[tuple[Rows, Any]]) -> Model:
    found: Model = []
    for rows, times in parts:
        keys = rows.batch.column(0).to_pylist()
        found += zip(keys, times.tolist(), rows.kind_values().tolist())
        assert rows.batch.column(1).to_pylist() == times.tolist()
    return found


def content(of: RowBufferTable) -> Model:
    """What is there; takes it out."""
    return rows_of(of.take(2**62))


@pytest.mark.parametrize("most_segments", [2, 128])
def test_copies_follow_by_deltas(most_segments: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_buffer_table, "MOST_SEGMENTS", most_segments)
    draw = random.Random(most_segments)
    leader, copy = table(), table()
    model: Model = []
    for _ in range(300):
        if draw.random() < 0.6:
            rows = [(draw.randrange(3), draw.randrange(50), draw.randrange(4)) for _ in range(draw.randrange(1, 5))]
            add(leader, rows)
            model += rows
        else:
            until = draw.randrange(50)
            assert rows_of(leader.take(until)) == [row for row in model if row[1] <= until]
            model = [row for row in model if row[1] > until]
        if draw.random() < 0.4:
            copy.apply(leader.delta())
    copy.apply(leader.delta())
    assert leader.delta() == {}
    assert content(copy) == content(leader) == model


def test_the_whole_content_is_by_key() -> None:
    leader = table()
    rows = [(1, 5, 0), (2, 3, 0), (1, 4, 3)]
    add(leader, rows)
    entries = leader.entries()
    assert entries == {(1,): ([5, 4], [(0, 1, 5), (3, 1, 4)]), (2,): ([3], [(0, 2, 3)])}
    assert leader.row((2,)) == entries[2,] and set(leader.keys()) == {(1,), (2,)}
    part = table()
    part.apply(RowBufferTable.only(entries, lambda key: key == (1,)))
    part.apply(RowBufferTable.only(entries, lambda key: key == (2,)))
    assert part.delta() == {}
    assert sorted(content(part)) == sorted(rows)


def test_what_is_taken_before_the_first_delta_is_in_none() -> None:
    leader, copy = table(), table()
    add(leader, [(1, 5, 0), (1, 9, 0)])
    leader.take(7)
    add(leader, [(1, 6, 0)])
    copy.apply(leader.delta())
    assert content(copy) == [(1, 9, 0), (1, 6, 0)]


def test_empty() -> None:
    empty = table()
    assert (empty.take(5), empty.delta(), empty.entries(), list(empty.keys())) == ([], {}, {}, [])
