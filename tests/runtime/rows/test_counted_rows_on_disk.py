"""Tables whose rows are removed again, as ``test_rows_on_disk`` has those that only grow: the models have the rows of a
key in the order of arrival."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.rows import test_rows_on_disk as on_disk
from tests.runtime.rows.test_rows_on_disk import Kind, Machine, Model, RowsCopy, Turns, content, machine, some_keys

from millrace.runtime.rows.expiry import Expiry, SliceClock
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import SINCE
from millrace.runtime.state.tables import ABSENT
from millrace.runtime.tables.aggregates.value_rows import ValueRows
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import places_within
from millrace.runtime.tables.counted_rows import CountedRows, PresentRows
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.runtime.tables.ordered_rows import ArrivedRows
from millrace.runtime.tables.over.retained_rows import Partitions
from millrace.runtime.tables.over.updating_over import RowsWithResults

__all__ = ["machine"]
KEY_AND_TEXT = [pa.int64(), pa.string()]
TTL = 7


def columns_of(rows: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]) -> list[pa.Array]:
    return [pa.array(values, each) for values, each in zip(zip(*rows), types)]


def drawn(draw: random.Random, *values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of a key and other values; the last one is whether the row is added."""
    keys = some_keys(draw)
    return [
        (draw.choice(keys), *(draw.choice(each) for each in values), draw.random() < 0.6)
        for _ in range(draw.randrange(1, 12))
    ]


def store(model: Model, key: Any, rows: list[Any]) -> None:
    if rows:
        model[key] = rows
    else:
        model.pop(key, None)


class Counted(Kind):
    """Rows with the number of copies and another mark: a side of a join."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return CountedRows(KEY_AND_TEXT, (0,), None, 2, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        self.look(table, model, some_keys(draw))
        if draw.random() < 0.2:
            there = zip(*(column.to_pylist() for column in table.take(table.everything())))
            assert Counter(there) == Counter((key, row[0]) for key, stored in model.items() for row in stored)
        rows = drawn(draw, ["a", "b", None], range(5))
        for key, text, mark, adds in rows:
            present = list(model.get(key, []))
            place = next((at for at, each in enumerate(present) if each[0] == text), None)
            copies, known = (0, 0) if place is None else present[place][1:]
            new = (text, copies + 1, mark) if adds else (text, copies - 1, known)
            if place is None:
                present += [new] if adds else []
            else:
                present[place : place + 1] = [new] if new[1] else []
            store(model, key, present)
        changes = np.array([1 if row[-1] else -1 for row in rows])
        columns = columns_of([row[:2] for row in rows], KEY_AND_TEXT)
        table.count(columns, changes, [np.array([row[2] for row in rows])])
        if draw.random() < 0.5:
            table.settle()
        return {row[0] for row in rows}

    def look(self, table: Any, model: Model, keys: list[int | None]) -> None:
        columns = [pa.array(keys, pa.int64())]
        owners, numbers = table.of_keys(key_hashes(columns, len(keys)), at_positions(columns))
        texts = table.take(numbers, (1,))[0].to_pylist()
        marks = [each.to_pylist() for each in table.slots(numbers)]
        found: dict[Any, list[Any]] = {}
        for owner, *row in zip(owners.tolist(), texts, *marks):
            found.setdefault(keys[owner], []).append(tuple(row))
        assert found == {key: model[key] for key in keys if key in model}
        for key in keys:
            stored = table.content((key,))
            assert (stored and Counted.seen(self, (True, stored, []))) == model.get(key)

    def seen(self, entry: Any) -> Any:
        return [(row[1], *marks) for row, marks in entry[1].items()]


class Unique(Kind):
    """Rows that replace the one with the same number."""

    types = (pa.int64(), pa.int32(), pa.string())

    def make(self, expiry: Expiry | None = None) -> Any:
        return CountedRows(self.types, (0,), (1,), 1, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        rows = drawn(draw, range(3), "ab", range(5))
        for key, number, text, mark, adds in rows:
            present = list(model.get(key, []))
            place = next((at for at, each in enumerate(present) if each[0] == number), None)
            if adds and place is not None and present[place][1] == text:
                present[place] = (number, text, mark)  # nothing but the mark has changed
            else:
                if place is not None:
                    del present[place]
                present += [(number, text, mark)] if adds else []
            store(model, key, present)
        adds = np.array([row[-1] for row in rows])
        table.replace(columns_of([row[:3] for row in rows], self.types), adds, [np.array([row[3] for row in rows])])
        if draw.random() < 0.5:
            table.settle()
        return {row[0] for row in rows}

    def seen(self, entry: Any) -> Any:
        return [(number, row[2], mark) for (number,), (row, mark) in entry[1].items()]


class UniqueInKey(Unique):
    """A key has one row: no further column identifies it."""

    types = KEY_AND_TEXT

    def make(self, expiry: Expiry | None = None) -> Any:
        return CountedRows(self.types, (0,), (), 1, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        rows = drawn(draw, "ab", range(5))
        for key, text, mark, adds in rows:
            store(model, key, [(text, mark)] if adds else [])
        adds = np.array([row[-1] for row in rows])
        table.replace(columns_of([row[:2] for row in rows], self.types), adds, [np.array([row[2] for row in rows])])
        if draw.random() < 0.5:
            table.settle()
        return {row[0] for row in rows}

    def seen(self, entry: Any) -> Any:
        return [(row[1], mark) for row, mark in entry[1].values()]


class Present(Kind):
    """The row of each key."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return PresentRows(KEY_AND_TEXT, (0,), expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        rows = drawn(draw, "abc")
        for key, text, adds in rows:
            if adds:
                model[key] = (key, text)
            else:
                model.pop(key, None)
        columns = columns_of([row[:2] for row in rows], KEY_AND_TEXT)
        table.replace(columns, np.array([row[-1] for row in rows]))
        keys = some_keys(draw)
        assert [table.content((key,)) for key in keys] == [model.get(key) for key in keys]
        numbers = table.numbers_of([pa.array(keys, pa.int64())], len(keys))
        assert [key in model for key in keys] == (numbers >= 0).tolist()
        if draw.random() < 0.5:
            table.settle()
        return {row[0] for row in rows}


class Values(Kind):
    """Values with two counts, which may be negative."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return ValueRows(KEY_AND_TEXT[:1], KEY_AND_TEXT[1:], 2, False, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        pairs = sorted({(key, text) for key, text, _ in drawn(draw, "abc")}, key=repr)
        by = [[draw.randrange(-1, 2) for _ in pairs] for _ in range(2)]
        before, after = table.change(columns_of(pairs, KEY_AND_TEXT), [np.array(each) for each in by])
        for (key, text), *more, one, two in zip(pairs, *by, zip(*before), zip(*after)):
            present = dict(model.get(key, []))
            assert present.get(text, (0, 0)) == one
            new = (one[0] + more[0], one[1] + more[1])
            assert new == two
            if new == (0, 0):
                present.pop(text, None)
            else:
                present[text] = new
            store(model, key, list(present.items()))
        if draw.random() < 0.5:
            table.settle()
        return {key for key, _ in pairs}

    def seen(self, entry: Any) -> Any:
        return [(value[0], counts) for value, counts in entry[1].items()]


class Arrived(Kind):
    """Each copy of a row is one of its own; the oldest one is removed first."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return ArrivedRows(KEY_AND_TEXT, (0,), None, None, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        before = {key: list(rows) for key, rows in model.items()}
        table.settle()
        changed: dict[Any, None] = {}
        for _ in range(draw.randrange(1, 3)):
            rows = drawn(draw, "ab")
            for key, text, adds in rows:
                changed[key] = None
                present = list(model.get(key, []))
                if adds:
                    present.append(text)
                elif text in present:
                    present.remove(text)
                store(model, key, present)
            columns = columns_of([row[:2] for row in rows], KEY_AND_TEXT)
            table.change(columns, np.array([row[-1] for row in rows]))
        self.look(table, list(changed), before, model)
        return set(changed)

    def look(self, table: Any, keys: list[Any], before: Model, model: Model) -> None:
        owners, numbers, was, now = table.touched()
        texts = np.array(table.take(numbers, (1,))[0].to_pylist(), object)
        for flags, rows in ((was, before), (now, model)):
            found: dict[Any, list[Any]] = {}
            for owner, text in zip(owners[flags].tolist(), texts[flags].tolist()):
                found.setdefault(keys[owner], []).append(text)
            assert found == {key: rows[key] for key in keys if key in rows}

    def seen(self, entry: Any) -> Any:
        placed = sorted((place, row[1]) for places, row in entry[1].values() for place in places)
        return [text for _, text in placed]


class Resulting(Kind):
    """Rows by arrival, with results that are overwritten."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return RowsWithResults(KEY_AND_TEXT, (0,), [pa.int64(), pa.string()], expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = some_keys(draw)
        partitions = Partitions.of([pa.array(keys, pa.int64())], len(keys))
        owners, numbers, places = table.of_partitions(partitions)
        there = zip(table.take(numbers, (1,))[0].to_pylist(), *(each.to_pylist() for each in table.slots(numbers)))
        found: dict[Any, list[Any]] = {}
        for owner, row in zip(owners.tolist(), there):
            found.setdefault(keys[owner], []).append(row)
        assert found == {key: model[key] for key in keys if key in model}
        assert all(np.diff(places)[np.diff(owners) == 0] > 0)
        gone = np.array([draw.random() < 0.3 for _ in numbers], bool)
        changed = ~gone & np.array([draw.random() < 0.3 for _ in numbers], bool)
        fresh = sorted(draw.choices(range(len(keys)), k=draw.randrange(4)))
        following = np.ones(len(keys), np.int64)
        following[owners] = places + 1
        texts = [draw.choice("ab") for _ in fresh]
        columns = [pa.array([keys[owner] for owner in fresh], pa.int64()), pa.array(texts, pa.string())]
        owner_of = np.array(fresh, np.int64)
        new = table.add(columns, following[owner_of] + places_within(owner_of))
        written = np.concatenate([numbers[changed], new])
        results = [(draw.choice([None, 1, 2]), draw.choice([None, "x", "yz"])) for _ in written]
        table.write(written, columns_of(results, (pa.int64(), pa.string())) if results else [])
        table.remove(numbers[gone])
        given = iter(results)
        kept: dict[Any, list[Any]] = {key: [] for key in keys}
        stored = [(key, row) for key in keys for row in model.get(key, [])]
        for (key, row), goes, differs in zip(stored, gone.tolist(), changed.tolist()):
            if not goes:
                kept[key].append((row[0], *next(given)) if differs else row)
        for owner, text in zip(fresh, texts):
            kept[keys[owner]].append((text, *next(given)))
        for key, rows in kept.items():
            store(model, key, rows)
        if draw.random() < 0.5:
            table.settle()
        return set(keys)

    def seen(self, entry: Any) -> Any:
        return [(row[1], *results) for _, (row, results) in sorted(entry[1].items())]


class Inserted(on_disk.Added):
    """Rows that are only added."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return IndexedRows(KEY_AND_TEXT, (0,), expiry)


KINDS: list[Kind] = [Counted(), Unique(), UniqueInKey(), Present(), Values(), Arrived(), Resulting()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("seed", one_of(range(3)))
def test_copies_go_on_fail_and_are_killed(kind: Kind, machine: Machine, seed: int) -> None:
    on_disk.test_copies_go_on_fail_and_are_killed(kind, machine, seed)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_state_goes_from_disk_to_memory_and_back(kind: Kind, machine: Machine) -> None:
    on_disk.test_state_goes_from_disk_to_memory_and_back(kind, machine)


@pytest.mark.parametrize("kind", [*KINDS, Inserted()], ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("seed", one_of(range(3)))
def test_rows_expire(machine: Machine, kind: Kind, seed: int) -> None:
    """Within the time to live of the oldest row nothing changes; when it has passed for all, nothing is there."""
    now = [0]

    class Timed(type(kind)):  # type: ignore[misc]
        def make(self, expiry: Expiry | None = None) -> Any:
            return kind.make(Expiry(TTL, SliceClock(lambda: now[0])))

        def seen(self, entry: Any) -> Any:
            if isinstance(kind, Present):
                return entry[1]
            return super().seen((True, {row: value for row, (_, value) in entry[1].items()}, []))

    timed, draw = Timed(), random.Random(seed)
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, timed))
    for _ in range(4):
        model = Model()
        for _ in range(TTL - 1):
            now[0] += 1
            timed.act(turns.copy.table, model, draw)
            turns.copy.table.settle()
            turns.end_epoch(whole=draw.random() < 0.2)
            turns.begin_epoch(draw.randrange(2))
            assert content(timed, turns.copy.backend) == model
        now[0] += 2 * TTL
        turns.copy.table.settle()
        keys = [pa.array([None, *range(on_disk.KEYS)], pa.int64())]
        table = turns.copy.table
        find = table.find if isinstance(kind, Inserted) else table.of_keys
        assert not len(find(key_hashes(keys, len(keys[0])), at_positions(keys))[1])
    turns.close()


def test_rows_after_a_failed_epoch_are_new() -> None:
    """What has been added since ``settle`` is told by row numbers, and a step back begins them again."""
    found = Machine(on_disk=True)
    turns: Turns[RowsCopy] = Turns(found, lambda working: RowsCopy(working, Present()), workers=1)

    def add(*keys: int) -> None:
        turns.copy.table.replace([pa.array(keys, pa.int64()), pa.array(["a"] * len(keys))], np.ones(len(keys), bool))

    add(*range(10))
    turns.copy.table.settle()
    turns.end_epoch()
    turns.begin_epoch(0)
    add(*range(20, 40))
    turns.copy.table.settle()
    turns.fail_epoch(after_its_end=False)
    turns.begin_epoch(0)
    add(3, 50)
    numbers = turns.copy.table.numbers_of([pa.array([3, 4, 50], pa.int64())], 3)
    assert turns.copy.table.are_new(numbers).tolist() == [False, False, True]
    turns.close()
    found.lose_disk()


@pytest.mark.parametrize(("kind", "change"), [
    (Counted(), {(1,): ABSENT}),
    (Counted(), {(1,): (False, {(1, "a"): (1, 1)}, [])}),
    (Present(), {(1,): ABSENT}),
    (Resulting(), {(1,): (False, {1: ((1, "a"), (2, "x"))}, [])}),
    (Present(), {SINCE: ("seen keys", (types_as_bytes(KEY_AND_TEXT[:1]),), [])}),
])  # fmt: skip
def test_changes_of_another_table_are_refused(kind: Kind, change: Any) -> None:
    """As a checkpoint has them whose query, or whose version of Millrace, had the state in another form."""
    backend = KeyedStateBackend()
    table = backend.use("rows", kind.make())
    with pytest.raises(ValueError, match="take a savepoint of"):
        backend.apply({"rows": (table.kind, change)})
