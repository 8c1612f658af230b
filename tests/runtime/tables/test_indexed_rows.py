"""Rows by key as a table of state: what a copy has after deltas, and what a savepoint says."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import MapTable
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.joins.inserted_rows import IndexedRows

Row = tuple[int | None, str]


def table() -> IndexedRows:
    return IndexedRows([pa.int64(), pa.string()], (0,))


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    return record_batch([pa.array([row[0] for row in rows], pa.int64()), pa.array([row[1] for row in rows])], len(rows))


def add(target: IndexedRows, rows: list[Row]) -> None:
    batch = batch_of(rows)
    target.add(batch, key_hashes([batch.column(0)], len(rows)))


def found(target: IndexedRows, keys: list[int | None]) -> list[tuple[int, Row]]:
    column = pa.array(keys, pa.int64())
    owners, numbers = target.find(key_hashes([column], len(keys)), lambda positions: [column.take(positions)])
    rows = zip(*(each.to_pylist() for each in target.take(numbers)))
    return list(zip(owners.tolist(), rows))


def test_copies_follow_by_deltas() -> None:
    draw = random.Random(1)
    leader, copy = table(), table()
    model: list[Row] = []
    for _ in range(60):
        rows: list[Row] = [(draw.choice([None, 1, 2, 3]), draw.choice("ab")) for _ in range(draw.randrange(1, 5))]
        add(leader, rows)
        model += rows
        if draw.random() < 0.5:
            copy.apply(leader.delta())
    copy.apply(leader.delta())
    assert leader.delta() == {} and copy.delta() == {}
    keys = [3, None, 7, 1]
    expected = [(place, row) for place, key in enumerate(keys) for row in model if row[0] == key]
    assert found(leader, keys) == found(copy, keys) == expected


def test_a_savepoint_has_a_map_from_row_to_count() -> None:
    leader = table()
    add(leader, [(1, "a"), (2, "b"), (1, "a"), (1, "c")])
    entries = leader.entries()
    assert entries == {(1,): (True, {(1, "a"): 2, (1, "c"): 1}, []), (2,): (True, {(2, "b"): 1}, [])}
    other = MapTable()
    other.apply(entries)
    assert other.row((1,)) == leader.row((1,)) == {(1, "a"): 2, (1, "c"): 1}
    assert set(other.keys()) == set(leader.keys()) == {(1,), (2,)}
    part = table()
    part.apply(MapTable.only(other.entries(), lambda key: key == (1,)))
    part.apply(MapTable.only(other.entries(), lambda key: key == (2,)))
    assert Counter(row for _, row in found(part, [1, 2])) == Counter({(1, "a"): 2, (1, "c"): 1, (2, "b"): 1})


def test_equal_hashes_of_different_keys() -> None:

    leader = table()
    nothing = np.zeros(3, np.uint64)
    leader.add(batch_of([(1, "a"), (2, "b"), (1, "c")]), nothing)
    owners, numbers = leader.find(nothing[:2], lambda positions: [pa.array([2, 1]).take(positions)])
    assert list(zip(owners.tolist(), numbers.tolist())) == [(0, 1), (1, 0), (1, 2)]


def test_a_delta_is_as_small_as_its_rows() -> None:
    leader = table()
    whole = batch_of([(number, "x" * 100) for number in range(1000)])
    few = whole.slice(500, 3)
    leader.add(few, key_hashes([few.column(0)], 3))
    ((_, _, (written,)),) = leader.delta().values()
    assert len(written) < 3000
