"""Tables in columns whose rows are on disk: copies of a task go on, fail, are killed and step back, against a dict."""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import TASK, Machine, TaskCopy, Turns, machine_with, whole_of

from millrace.relational.rows import record_batch
from millrace.runtime.rows import expiry as expiries
from millrace.runtime.rows.expiry import Expiry, SliceClock
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import table_of
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import NO_PAST
from millrace.runtime.tables.aggregates.append_only_distinct import SeenRows
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.group_table import GroupTable
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.runtime.tables.ordering.first_rows import FirstOfKey, _by_arrival
from millrace.runtime.tables.ordering.latest_rows import RowOfKey, SeenKeys

NAME = "rows"
KEYS = 30
Model = dict[Any, Any]


class Kind(ABC):
    """A table, and what a dict would be after the same."""

    @abstractmethod
    def make(self, expiry: Expiry | None = None) -> Any: ...

    @abstractmethod
    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        """Change the table and the model in the same way; returns the keys of the model that were written."""

    def seen(self, entry: Any) -> Any:
        """The value of the model for what a savepoint has for a key."""
        return entry

    def seen_all(self, entries: Model) -> Model:
        """The model for the entries of a savepoint."""
        return {key[0]: self.seen(entry) for key, entry in entries.items()}

    def without_times(self, entries: Model) -> tuple[Model, Model]:
        """(the entries of a savepoint without times, key of the model -> time of its last write)."""
        times = {key[0]: written for key, (written, _) in entries.items()}
        return {key: entry for key, (_, entry) in entries.items()}, times

    def has(self, table: Any, key: int | None, model: Model) -> bool:
        """Whether the table says of a key what the model says."""
        return (table.row((key,)) is not None) == (key in model)


def some_keys(draw: random.Random) -> list[int | None]:
    return draw.sample([None, *range(KEYS)], draw.randrange(1, 8))


def found(table: Any, keys: list[int | None]) -> dict[Any, list[int]]:
    """key -> the numbers of its rows"""
    columns = [pa.array(keys, pa.int64())]
    find = getattr(table, "find_to_write", table.find)
    owners, numbers = find(key_hashes(columns, len(keys)), at_positions(columns))
    rows: dict[Any, list[int]] = {}
    for owner, number in zip(owners.tolist(), numbers.tolist()):
        rows.setdefault(keys[owner], []).append(number)
    return rows


class Groups(Kind):
    def make(self, expiry: Expiry | None = None) -> Any:
        return GroupTable([pa.int64()], [pa.int64(), pa.string()], [False, True], expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = some_keys(draw)
        numbers, known = table.place([pa.array(keys, pa.int64())], len(keys))
        assert known.tolist() == [key in model for key in keys]
        assert list(zip(*(each.to_pylist() for each in table.slots(numbers[known])))) == [
            model[key] for key in keys if key in model
        ]
        for key in keys:
            model[key] = (draw.randrange(100), draw.choice([None, "a", "bc"]))
        columns = list(zip(*(model[key] for key in keys)))
        table.write(numbers, [pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.string())])
        gone = [place for place in range(len(keys)) if draw.random() < 0.3]
        table.remove(numbers[gone])
        for place in gone:
            del model[keys[place]]
        if draw.random() < 0.5:
            table.settle()
        return set(keys)


class Latest(Kind):
    def make(self, expiry: Expiry | None = None) -> Any:
        return RowOfKey([pa.int64(), pa.string()], (0,), None, expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = some_keys(draw)
        known = found(table, keys)
        assert set(known) == set(keys) & set(model)
        for key, numbers in known.items():
            assert table.take(np.array(numbers), (1,))[0].to_pylist() == [model[key]]
        stored = {number for numbers in known.values() for number in numbers}
        assert not set(table.new().tolist()) & {n for n in stored if not table.are_new(np.array([n]))[0]}
        table.remove(np.array(sorted(stored), np.int64))
        model.update({key: draw.choice("abc") for key in keys})
        columns = [pa.array(keys, pa.int64()), pa.array([model[key] for key in keys])]
        table.add(record_batch(columns, len(keys)), key_hashes(columns[:1], len(keys)))
        if draw.random() < 0.5:
            table.settle()
        return set(keys)

    def seen(self, entry: Any) -> Any:
        return entry[1][1]


class First(Kind):
    """The last three rows of each key, in the order of their arrival."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return FirstOfKey([pa.int64(), pa.string()], (0,), _by_arrival, (), expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = some_keys(draw)
        known = found(table, keys)
        for key in keys:
            numbers = known.get(key, [])
            assert table.take(np.array(numbers, np.int64), (1,))[0].to_pylist() == model.get(key, [])
            table.remove(np.array(numbers[: max(len(numbers) - 2, 0)], np.int64))
            table.renew(np.array(numbers[-2:], np.int64))
            model[key] = [*model.get(key, [])[-2:], draw.choice("abc")]
        columns = [pa.array(keys, pa.int64()), pa.array([model[key][-1] for key in keys])]
        table.add(record_batch(columns, len(keys)), key_hashes(columns[:1], len(keys)))
        if draw.random() < 0.5:
            table.settle()
        return set(keys)

    def seen(self, entry: Any) -> Any:
        return [row[1] for row, _ in entry]


class Added(Kind):
    """A multiset of rows for each key; the model has them as counts."""

    def make(self, expiry: Expiry | None = None) -> Any:
        return IndexedRows([pa.int64(), pa.string()], (0,))

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = some_keys(draw)
        if draw.random() < 0.6:  # the other side of a join looks for rows, this one adds without a look
            known = found(table, keys)
            for key in keys:
                values = table.take(np.array(known.get(key, []), np.int64), (1,))[0].to_pylist()
                assert Counter(values) == model.get(key, Counter())
        rows = [(key, draw.choice("abc")) for key in keys for _ in range(draw.randrange(1, 3))]
        for key, value in rows:
            model.setdefault(key, Counter())[value] += 1
        columns = [pa.array([key for key, _ in rows], pa.int64()), pa.array([value for _, value in rows])]
        table.add(record_batch(columns, len(rows)), key_hashes(columns[:1], len(rows)))
        if draw.random() < 0.5:
            table.settle()
        return set(keys)

    def seen(self, entry: Any) -> Any:
        counts: Counter[str] = Counter()
        for row, count in entry[1].items():
            counts[row[1]] += count
        return counts


class Seen(Kind):
    def make(self, expiry: Expiry | None = None) -> Any:
        return SeenKeys([pa.int64()], expiry)

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        keys = [*some_keys(draw), *some_keys(draw)]
        new = {keys[place] for place in table.new([pa.array(keys, pa.int64())], len(keys)).tolist()}
        assert new == set(keys) - set(model)
        model.update(dict.fromkeys(keys, True))
        return set(new)


class Values(Kind):
    """The bits of values at each key; the model has them by both. Few keys have most values."""

    def make(self, expiry: Expiry | None = None) -> Any:
        table = SeenRows([pa.int64()], [pa.string()], expiry)
        table.filters = [None, None]
        return table

    def act(self, table: Any, model: Model, draw: random.Random) -> set[Hashable]:
        chosen = {(draw.choice([None, 0, 0, 1, KEYS]), draw.choice([None, *map(str, range(40))])) for _ in range(9)}
        pairs = sorted(chosen, key=repr)
        keys, values = pa.array([key for key, _ in pairs], pa.int64()), pa.array([value for _, value in pairs])
        numbers, known = table.place([keys, values], len(pairs))
        assert known.tolist() == [pair in model for pair in pairs]
        before = [sum(bit << place for place, bit in enumerate(model[pair])) for pair in pairs if pair in model]
        assert table.slots(numbers[known])[0].to_pylist() == before
        bits = [draw.randrange(1, 4) for _ in pairs]
        table.write(numbers, [pa.array(bits)])
        model.update({pair: (each & 1, each >> 1) for pair, each in zip(pairs, bits)})
        if draw.random() < 0.5:
            table.settle()
        return set(pairs)

    def seen_all(self, entries: Model) -> Model:
        return {(at[0], value[0]): counts for at, (_, row, _) in entries.items() for value, counts in row.items()}

    def without_times(self, entries: Model) -> tuple[Model, Model]:
        flat = self.seen_all(entries)
        found: Model = {
            at: (True, {value: counts for value, (_, counts) in row.items()}, []) for at, (_, row, _) in entries.items()
        }
        return found, {pair: written for pair, (written, _) in flat.items()}

    def has(self, table: Any, key: int | None, model: Model) -> bool:
        wanted = {(value,): counts for (at, value), counts in model.items() if at == key}
        return (table.content((key,)) or {}) == wanted


KINDS: list[Kind] = [Groups(), Latest(), First(), Added(), Seen(), Values()]
EXPIRING: list[Kind] = [kind for kind in KINDS if not isinstance(kind, Added)]


class RowsCopy(TaskCopy):
    def __init__(self, working: WorkingState, kind: Kind, expiry: Expiry | None = None) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, kind.make(expiry))


def content(kind: Kind, backend: KeyedStateBackend) -> Model:
    return kind.seen_all(whole_of(backend).get(NAME, ("", {}))[1])


def copied(model: Model) -> Model:
    return {key: value.copy() if isinstance(value, (list, Counter)) else value for key, value in model.items()}


@pytest.fixture(params=[0, 1_500, 1 << 20], ids=["nothing stays", "some rows stay", "all rows stay"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("seed", one_of(range(3)))
def test_copies_go_on_fail_and_are_killed(kind: Kind, machine: Machine, seed: int) -> None:
    draw, model = random.Random(seed), Model()
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, kind))
    for step in range(60):
        before = copied(model)
        for _ in range(draw.randrange(4)):
            kind.act(turns.copy.table, model, draw)
        if hasattr(turns.copy.table, "settle"):
            turns.copy.table.settle()
        outcome = draw.random()
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.15)
        elif outcome < 0.8:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
            model = before
        else:
            turns.end_epoch()
            turns.drop(killed=draw.random() < 0.5)
        turns.begin_epoch(draw.randrange(2))
        if step % 5 == 0:
            assert content(kind, turns.copy.backend) == model
            for key in [None, 0, 1, KEYS]:
                assert kind.has(turns.copy.table, key, model)
    assert content(kind, turns.copy.backend) == model
    turns.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_state_goes_from_disk_to_memory_and_back(kind: Kind, machine: Machine) -> None:
    draw, model = random.Random(5), Model()
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, kind))
    for _ in range(12):
        kind.act(turns.copy.table, model, draw)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, kind.make())
        for piece in pieces():
            memory.apply(piece)
        assert content(kind, memory) == model
        other = Machine(on_disk=True)
        onto = RowsCopy(other.plan.state_of("another", TASK, dict), kind)
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        assert content(kind, onto.backend) == model
        onto.working.close()
        other.lose_disk()
    turns.close()


def test_a_damaged_run_lets_the_store_be_rebuilt() -> None:
    machine, kind = Machine(on_disk=True), Groups()
    draw, model = random.Random(1), Model()
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, kind), workers=1)
    for _ in range(3):
        kind.act(turns.copy.table, model, draw)
        turns.end_epoch()
        turns.begin_epoch(0)
    assert isinstance(machine.plan, OnDisk)
    runs = [path for path in Path(machine.plan.paths[0]).rglob("*.run") if path.stat().st_size]
    assert runs, "a file without bytes is that of a merge that has just begun"
    for path in runs:
        content_of = bytearray(path.read_bytes())
        content_of[len(content_of) // 2] ^= 1
        os.unlink(path)
        path.write_bytes(bytes(content_of))
    turns.lose_worker(0)
    with pytest.raises(RuntimeError, match=r"\.run.*the next attempt will rebuild it"):
        _begin_and_read(turns, kind)
    turns.lose_worker(0)
    turns.begin_epoch(0)
    assert content(kind, turns.copy.backend) == model
    turns.close()


def _begin_and_read(turns: Turns[RowsCopy], kind: Kind) -> None:
    turns.begin_epoch(0)
    content(kind, turns.copy.backend)


def test_rows_leave_memory_above_the_limit() -> None:
    machine = Machine(on_disk=True)
    assert isinstance(machine.plan, OnDisk)
    machine.plan = OnDisk(machine.plan.paths, 200_000)
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, Groups()), workers=1)
    for epoch in range(40):
        table = turns.copy.table
        keys = pa.array(range(epoch * 500, epoch * 500 + 500), pa.int64())
        numbers, _ = table.place([keys], 500)
        table.write(numbers, [keys, keys.cast(pa.string())])
        table.settle()
        assert table.bytes_in_memory < 300_000
        turns.end_epoch()
        turns.begin_epoch(0)
    assert len(whole_of(turns.copy.backend)[NAME][1]) == 20_000
    turns.close()


def test_rows_that_are_only_looked_up_leave_memory_above_the_limit() -> None:
    """As those of the side of a join that gets no more rows."""
    machine = Machine(on_disk=True)
    assert isinstance(machine.plan, OnDisk)
    machine.plan = OnDisk(machine.plan.paths, 100_000)
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, Added()), workers=1)
    keys = pa.array(range(10_000), pa.int64())
    turns.copy.table.add(record_batch([keys, keys.cast(pa.string())], len(keys)), key_hashes([keys], len(keys)))
    turns.end_epoch()
    turns.begin_epoch(0)
    for start in range(0, 10_000, 500):
        table = turns.copy.table
        table.settle()
        assert table.bytes_in_memory < 200_000
        assert len(found(table, list(range(start, start + 500)))) == 500
    turns.close()
    machine.lose_disk()


TTL = 7


class World:
    """A clock that goes on with each epoch, and a model that forgets."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.now = 100
        self.model = Model()
        self.written = Model()

    def expiry(self) -> Expiry:
        return Expiry(TTL, SliceClock(lambda: self.now))

    def shown(self) -> Model:
        return {key: value for key, value in self.model.items() if self.written[key] > self.now - TTL}

    def act(self, table: Any, draw: random.Random) -> tuple[Model, Model]:
        """(the model after some changes of the table, when its keys were written)."""
        live = copied(self.shown())
        written = dict.fromkeys(self.kind.act(table, live, draw), self.now)
        table.settle()
        return live, {**self.written, **written}

    def check(self, entries: Model) -> None:
        """The entries of a savepoint have all that has not expired, with its times, and nothing else."""
        entries, times = self.kind.without_times(entries)
        shown = self.shown()
        assert self.kind.seen_all(entries) == shown
        assert times == {key: self.written[key] for key in shown}


@pytest.fixture(params=[None, 0, 1_500], ids=["memory", "nothing stays", "some rows stay"])
def any_machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks have their rows in memory, or on disk."""
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("kind", EXPIRING, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("seed", one_of(range(2)))
def test_rows_expire_in_all_copies(kind: Kind, any_machine: Machine, seed: int) -> None:
    world, draw = World(kind), random.Random(seed)
    turns: Turns[RowsCopy] = Turns(any_machine, lambda working: RowsCopy(working, kind, world.expiry()))
    for step in range(50):
        world.now += draw.randrange(4)
        model, written = world.act(turns.copy.table, draw)
        if draw.random() < 0.7:
            turns.end_epoch(whole=draw.random() < 0.15)
            world.model, world.written = model, written
        else:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
        turns.begin_epoch(draw.randrange(2))
        if step % 5 == 0:
            for key in [None, 0, 1, KEYS]:
                assert kind.has(turns.copy.table, key, world.shown())
            world.check(whole_of(turns.copy.backend).get(NAME, ("", {}))[1])
    world.now += TTL
    turns.copy.table.settle()
    turns.end_epoch()
    turns.begin_epoch(0)
    assert content(kind, turns.copy.backend) == {}, "no operator looks for them, and they are gone"
    turns.close()


@pytest.mark.parametrize("kind", EXPIRING, ids=lambda kind: type(kind).__name__)
def test_rows_that_expire_go_from_disk_to_memory_and_back(kind: Kind, any_machine: Machine) -> None:
    """By savepoints and by checkpoints."""
    world, draw = World(kind), random.Random(5)
    turns: Turns[RowsCopy] = Turns(any_machine, lambda working: RowsCopy(working, kind, world.expiry()))
    for _ in range(12):
        world.now += 1
        world.model, world.written = world.act(turns.copy.table, draw)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, kind.make(world.expiry()))
        for piece in pieces():
            memory.apply(piece)
        world.check(whole_of(memory)[NAME][1])
        other = Machine(on_disk=True)
        onto = RowsCopy(other.plan.state_of("another", TASK, dict), kind, world.expiry())
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        world.check(whole_of(onto.backend)[NAME][1])
        onto.working.close()
        other.lose_disk()
    turns.close()


@pytest.mark.parametrize("kind", EXPIRING, ids=lambda kind: type(kind).__name__)
def test_copies_without_a_clock_forget_what_had_expired_at_the_last_write(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whole states are made from files."""
    monkeypatch.setattr(expiries, "CLEANUPS", TTL)
    world, draw = World(kind), random.Random(3)
    leader, copy, checks = kind.make(world.expiry()), None, 0
    for _ in range(60):
        world.now += draw.randrange(4)
        world.model, world.written = world.act(leader, draw)
        delta = leader.delta()
        if not delta:
            continue
        copy = table_of(delta) if copy is None else copy
        assert copy.kind == leader.kind == f"TTL {type(leader).kind}"
        copy.apply(delta)
        times = kind.without_times(copy.entries())[1].values()
        if world.now in times:
            world.check(copy.entries())
            checks += 1
    assert checks > 20


def test_all_tables_of_an_operator_have_the_time_of_the_slice() -> None:
    """A value that is written in a slice expires when its group does."""
    now = [0]
    clock = SliceClock(lambda: now[0])
    groups = GroupTable([pa.int64()], [pa.int64()], [False], Expiry(TTL, clock))
    values = SeenRows([pa.int64()], [pa.int64()], Expiry(TTL, clock))
    one, number = pa.array([1]), [pa.array([1])]
    groups.write(groups.place([one], 1)[0], number)
    now[0] = 5
    values.write(values.place([one, one], 1)[0], number)
    groups.settle()
    values.settle()
    now[0] = TTL
    assert groups.row((1,)) is None and values.content((1,)) is None
