"""Rows that replace each other as a table of state: against a dict, in copies that follow, in savepoints, when written
again."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.runtime.state.copies import whole_of
from tests.runtime.tables.table_runs import changes_of, element, harness, table_of

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend
from millrace.relational import types as t
from millrace.relational.rex import Ref, SortKey
from millrace.relational.rows import record_batch
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.tables import replaced_rows
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.columns import pieces as piecewise
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.latest_rows import RowOfKey
from millrace.runtime.tables.ordering.rank import Rank

Row = tuple[Any, ...]
TYPES = (t.VarCharType(3), t.BigIntType(), t.VarCharType(5))


def table() -> RowOfKey:
    return RowOfKey([pa.int64(), pa.string()], (0,), None)


def put(target: RowOfKey, rows: list[Row], hashes: Any = None) -> None:
    """Rows with different keys, in place of those that these have."""
    keys = pa.array([row[0] for row in rows], pa.int64())
    hashes = key_hashes([keys], len(rows)) if hashes is None else hashes
    target.remove(target.find(hashes, lambda positions: [keys.take(pa.array(positions))])[1])
    target.add(record_batch([keys, pa.array([row[1] for row in rows])], len(rows)), hashes)


def content(target: RowOfKey) -> dict[Any, Any]:
    return {key[0]: row[1] for key, (_, row) in target.entries().items()}


def test_copies_follow_and_rows_that_went_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaced_rows, "FEW_DEAD", 3)
    monkeypatch.setattr(piecewise, "PIECE", 4)
    draw = random.Random(1)
    leader, copy, model = table(), table(), dict[Any, str]()
    for _ in range(120):
        rows = {draw.choice([None, *range(9)]): draw.choice("abc") for _ in range(draw.randrange(1, 6))}
        put(leader, list(rows.items()))
        model.update(rows)
        if draw.random() < 0.3:
            leader.settle()
        if draw.random() < 0.3:
            leader.settle()
            copy.apply(leader.delta())
            assert content(copy) == model
        assert content(leader) == model
        assert leader.length <= 80
    copy.apply(leader.delta())
    assert content(copy) == model and leader.delta() == {} == copy.delta()


def test_rows_from_before_can_be_read_until_changes_are_emitted() -> None:
    rows = table()
    put(rows, [(1, "a"), (2, "b")])
    rows.settle()
    put(rows, [(1, "c")])
    put(rows, [(1, "d")])
    keys = pa.array([1, 2])
    hashes = key_hashes([keys], 2)

    def found(find: Any) -> list[tuple[int, str]]:
        owners, numbers = find(hashes, lambda positions: [keys.take(pa.array(positions))])
        return list(zip(owners.tolist(), rows.take(numbers, (1,))[0].to_pylist()))

    assert found(rows.find) == [(0, "d"), (1, "b")]
    assert found(rows.find_readable) == [(0, "a"), (0, "d"), (1, "b")]
    rows.settle()
    assert found(rows.find_readable) == [(0, "d"), (1, "b")]


def test_keys_of_one_hash() -> None:
    rows = table()
    nothing = np.zeros(2, np.uint64)
    put(rows, [(1, "a"), (2, "b")], nothing)
    put(rows, [(2, "c")], nothing[:1])
    assert content(rows) == {1: "a", 2: "c"}


DESCENDING = (SortKey(Ref(TYPES[1], 1), descending=True, nulls_first=False),)
CONFIGS: dict[str, TableConfig] = {
    "last": Deduplicate(keys=(0,), types=TYPES, last=True),
    "first": Deduplicate(keys=(0,), types=TYPES, last=False),
    "top": Rank(partition=(0,), order=DESCENDING, types=TYPES, last=3, number=True),
    "ranks": Rank(partition=(0,), order=DESCENDING, types=TYPES, last=2, function="RANK"),
    "top of all": Rank(partition=(), order=DESCENDING, types=TYPES, last=3, number=True),
}
"""each of a kind that has its rows in columns"""
CONFIGS |= {f"{name}, expiring": replace(config, state_ttl=10**6) for name, config in CONFIGS.items()}
PLACES: dict[str, Any] = {"memory": HashMapStateBackend, "disk": EmbeddedRocksDBStateBackend}


def some_rows(seed: int) -> list[Row]:
    draw = random.Random(seed)
    return [(draw.choice([None, "a", "b", "c"]), draw.choice([None, 1, 2, 3]), draw.choice("xy")) for _ in range(30)]


@pytest.mark.parametrize("name", CONFIGS)
def test_state_moves_between_memory_and_disk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A savepoint says the same of both, and a job goes on with either."""
    monkeypatch.setattr(piecewise, "PIECE", 5)
    config = CONFIGS[name]
    first, second = some_rows(1), some_rows(2)

    def begun(place: str) -> tuple[Any, list[Any]]:
        with harness(config, state_backend=PLACES[place]()) as task:
            for row in first:
                task.process_element(element(row, TYPES).value)
            task.end_epoch()
            return whole_of(task.operator.keyed_state()), changes_of(task.values)

    def ended(place: str, state: Any, changes: list[Any]) -> Any:
        with harness(config, state_backend=PLACES[place]()) as task:
            task.operator.take_over_keyed([state])
            for row in second:
                task.process_element(element(row, TYPES).value)
            task.end_input()
            return table_of([*changes, *changes_of(task.values)])

    (memory, changes), (disk, same) = begun("memory"), begun("disk")
    assert table_of(changes) == table_of(same)
    assert memory == disk
    wanted = ended("memory", memory, changes)
    with harness(replace(config, state_ttl=0)) as task:
        for row in [*first, *second]:
            task.process_element(element(row, TYPES).value)
        task.end_input()
        assert table_of(changes_of(task.values)) == wanted
    assert ended("disk", memory, changes) == ended("memory", disk, changes) == ended("disk", disk, changes) == wanted


@pytest.mark.parametrize("name", CONFIGS)
def test_changes_say_of_which_table_they_are(name: str) -> None:
    """Keys that go to tasks of another parallelism are told by what a checkpoint has written of their earlier task."""
    with harness(CONFIGS[name]) as task:
        kept = KeyedStateBackend()
        for row in some_rows(3):
            task.process_element(element(row, TYPES).value)
            task.end_epoch()
            kept.apply(task.operator.keyed_state().delta())
        ((_, expected),) = task.operator.keyed_state().full().values()
        ((_, found),) = kept.full().values()
    rows_of = _timed_rows_of if name.endswith("expiring") else _rows_of
    assert {at: rows_of(entry) for at, entry in found.items()} == {at: rows_of(each) for at, each in expected.items()}


def _timed_rows_of(entry: Any) -> Any:
    return entry[0], _rows_of(entry[1])


def _rows_of(entry: Any) -> Any:
    """The rows of an entry, by content: ranks are worked out where they go."""
    if entry is True or entry[0] in range(99):
        return entry
    return sorted((row for row, _ in entry), key=repr) if isinstance(entry[0], tuple) else entry[1]
