"""Windows in columns as a table of state, in memory and on disk: copies follow by changes, go on, fail and are killed,
against a dict."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import TASK, Machine, TaskCopy, Turns, machine_with

from millrace.relational.functions.aggregates.registry import Slot, choosing, counting
from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.rows import row_runs, run_file
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import divided, table_of
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import NO_PAST
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.windows import slice_table, stored_slices
from millrace.runtime.tables.windows.slice_table import SliceTable

NAME = "windows"
SLOTS = (counting(), choosing(pa.int64(), "max"), Slot(pa.string(), "last", lambda older, newer: newer))
Accumulator = tuple[int, int | None, str]
Model = dict[int, dict[tuple[str | None], Accumulator]]
KEYS = ["a", "b", None, *map(str, range(20))]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, batches and windows of runs are few, so that all borders are met."""
    monkeypatch.setattr(row_runs, "LEAST_STEP", 5)
    monkeypatch.setattr(row_runs, "SLICE", 3)
    monkeypatch.setattr(run_file, "BATCH", 7)
    monkeypatch.setattr(run_file, "WINDOW", 2)
    monkeypatch.setattr(stored_slices, "PIECE", 9)


def table() -> SliceTable:
    return SliceTable(PartialColumns([pa.string()], SLOTS))


def batch(rows: list[tuple[str | None, int | None, str]]) -> pa.RecordBatch:
    keys, values, texts = zip(*rows)
    slots = [pa.array([1] * len(rows)), pa.array(values, pa.int64()), pa.array(texts)]
    return table().partials.batch([pa.array(keys, pa.string())], slots, len(rows))


def act(windows: SliceTable, model: Model, draw: random.Random) -> None:
    """Change the table and the model in the same way, or compare a window."""
    end, choice = draw.randrange(5), draw.random()
    if choice < 0.15:
        windows.drop(end)
        model.pop(end, None)
    elif choice < 0.3:
        assert (windows.row(end) or {}) == model.get(end, {})
    else:
        rows = [
            (draw.choice(KEYS), draw.choice([None, 1, 2, 3]), draw.choice("xyz")) for _ in range(draw.randrange(1, 9))
        ]
        windows.add(end, batch(rows))
        content = model.setdefault(end, {})
        for key, value, text in rows:
            count, largest, _ = content.get((key,), (0, None, ""))
            both = [each for each in (largest, value) if each is not None]
            content[key,] = (count + 1, max(both, default=None), text)


def copied(model: Model) -> Model:
    return {end: dict(row) for end, row in model.items()}


def applied(pieces: Any) -> Model:
    """What pieces in the form of a savepoint add up to."""
    plain = WindowTable()
    for piece in pieces:
        plain.apply(piece)
    return {end: dict(row) for end, row in plain.rows.items()}


def content(backend: KeyedStateBackend) -> Model:
    return applied(piece[NAME][1] for piece in backend.full_pieces() if NAME in piece)


@pytest.mark.parametrize("most", [1, 32])
def test_copies_follow_by_changes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(slice_table, "MOST_BATCHES", most)
    draw = random.Random(3)
    leader, copy = table(), table()
    model: Model = {}
    for _ in range(150):
        act(leader, model, draw)
        if draw.random() < 0.3:
            copy.apply(leader.delta())
            assert copy.entries() == leader.entries() == {end: (True, row) for end, row in model.items()}
            assert leader.delta() == {}
            choice = draw.random()
            if choice < 0.3:
                copy = table()
                copy.apply(leader.entries())
            elif choice < 0.5:
                copy = table()
                for piece in leader.told_pieces():
                    copy.apply(piece)


def test_changes_by_address_are_followed_by_changes_in_columns() -> None:
    """A checkpoint of an earlier release has accumulators by window and key, later files of the same job have
    columns."""
    plain, backend, leader = WindowTable(), KeyedStateBackend(), table()
    for end, key, value in ((5, "a", 1), (0, "b", 2)):
        plain.put(end, (key,), (1, value, "x"))
    old = plain.delta()
    backend.apply({NAME: (WindowTable.kind, old)})
    leader.apply(old)
    leader.add(5, batch([("a", 7, "y"), (None, 1, "z")]))
    leader.drop(0)
    backend.apply({NAME: (WindowTable.kind, leader.delta())})
    assert content(backend) == {5: {("a",): (2, 7, "y"), (None,): (1, 1, "z")}}


def test_replaced_accumulators() -> None:
    """Changes in the form of a savepoint have whole accumulators."""
    windows = table()
    windows.add(0, batch([("a", 1, "x"), ("b", 1, "x")]))
    windows.apply({0: (False, {("a",): (5, 4, "y")}), 3: (False, {("c",): (1, 1, "z")})})
    assert windows.row(0) == {("a",): (5, 4, "y"), ("b",): (1, 1, "x")}
    windows.apply({0: (True, {("b",): (2, 2, "z")})})
    assert windows.entries() == {0: (True, {("b",): (2, 2, "z")}), 3: (True, {("c",): (1, 1, "z")})}


class SlicesCopy(TaskCopy):
    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, table())


@pytest.fixture(params=[None, 0, 1_500, 1 << 20], ids=["in memory", "nothing stays", "some rows stay", "all rows stay"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("seed", one_of(range(4)))
def test_copies_go_on_fail_and_are_killed(machine: Machine, seed: int) -> None:
    draw, model = random.Random(seed), Model()
    before = Model()
    turns: Turns[SlicesCopy] = Turns(machine, SlicesCopy)
    for step in range(60):
        for _ in range(draw.randrange(4)):
            act(turns.copy.table, model, draw)
        outcome = draw.random()
        if not 0.6 <= outcome < 0.8:
            before = copied(model)
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.15)
            if draw.random() < 0.3:
                with turns.between_epochs():
                    act(turns.copy.table, model, draw)
                turns.go_on()
                continue
        elif outcome < 0.8:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
            model = copied(before)
        else:
            turns.end_epoch()
            turns.drop(killed=draw.random() < 0.5)
        turns.begin_epoch(draw.randrange(2))
        if step % 5 == 0:
            assert content(turns.copy.backend) == model
    assert sorted(turns.copy.table.ends()) == sorted(model)
    for end, row in model.items():
        assert turns.copy.table.row(end) == row
    turns.close()


def test_state_goes_from_disk_to_memory_and_back(machine: Machine) -> None:
    draw, model = random.Random(5), Model()
    turns: Turns[SlicesCopy] = Turns(machine, SlicesCopy)
    for _ in range(30):
        act(turns.copy.table, model, draw)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, table())
        for piece in pieces():
            memory.apply(piece)
        assert content(memory) == model
        other = Machine(on_disk=True)
        onto = SlicesCopy(other.plan.state_of("another", TASK, dict))
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        assert content(onto.backend) == model
        onto.working.close()
        other.lose_disk()
    turns.close()


def test_copies_of_a_part_of_the_keys() -> None:
    draw, model, windows = random.Random(7), Model(), table()
    for _ in range(40):
        act(windows, model, draw)
    found: Model = {}
    for piece in windows.told_pieces():
        for group, part in divided(piece, lambda hashes: groups_of(hashes, 16)).items():
            copy = table_of(part)
            copy.apply(part)
            assert all(key_group(key, 16) == group for key in list(copy.keys()))
            for end in copy.addresses():
                found.setdefault(end, {}).update(copy.row(end))
    assert found == model


def test_windows_leave_memory_and_disk() -> None:
    """What was flushed leaves memory above the limit, equal keys are merged where runs are, and nothing is left of
    windows that were dropped."""
    machine = Machine(on_disk=True)
    assert isinstance(machine.plan, OnDisk)
    machine.plan = OnDisk(machine.plan.paths, 0)
    turns: Turns[SlicesCopy] = Turns(machine, SlicesCopy, workers=1)
    for epoch in range(100):
        turns.copy.table.add(7, batch([(key, epoch, "x") for key in KEYS]))
        turns.end_epoch()
        turns.begin_epoch(0)
        turns.copy.table.ends()
        assert not turns.copy.table.rows[7].batches
    disk = turns.copy.table._disk
    assert disk is not None
    assert disk._runs.rows < 30 * len(KEYS)
    assert turns.copy.table.row(7) == {(key,): (100, 99, "x") for key in KEYS}
    turns.copy.table.drop(7)
    turns.end_epoch()
    turns.begin_epoch(0)
    turns.copy.table.ends()
    assert disk._runs.rows == 0
    turns.close()
