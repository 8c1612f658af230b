"""Open sessions in columns as a table of state, in memory and on disk: copies follow by changes, go on, fail and are
killed, against a dict."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import Machine, TaskCopy, Turns, whole_of
from tests.runtime.tables.table_runs import changes_of, element, harness

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call, counting
from millrace.relational.nodes import WindowSpec
from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.rows import row_runs, run_file
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import by_address, divided, table_of
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.tables import ValueTable
from millrace.runtime.state.working import WorkingState
from millrace.runtime.tables import changing_rows
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.windows.open_sessions import OpenSessions
from millrace.runtime.tables.windows.sessions import Session
from millrace.runtime.tables.windows.window_config import WindowAggregate

START = datetime(1970, 1, 1)
TYPES = (t.VarCharType(2), t.TimestampType(3))
NAME = "sessions"
KEYS = [None, *range(12)]
Model = dict[int | None, list[tuple[int, int]]]
"""key -> (number of rows, start) of its sessions"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, batches and windows of runs are few, so that all borders are met."""
    monkeypatch.setattr(row_runs, "LEAST_STEP", 5)
    monkeypatch.setattr(row_runs, "SLICE", 3)
    monkeypatch.setattr(run_file, "BATCH", 7)
    monkeypatch.setattr(run_file, "WINDOW", 2)
    monkeypatch.setattr(changing_rows, "FEW", 3)


def table() -> OpenSessions:
    return OpenSessions(PartialColumns([pa.int64()], [counting()]))


def content(entries: Mapping[Any, Any]) -> Model:
    found: Model = {}
    for (key,), sessions in entries.items():
        assert all(
            isinstance(each, Session) and each.id == each.start and each.end == each.start + 5 for each in sessions
        )
        found[key] = [(each.content[0], each.start) for each in sessions]
    return found


def of_backend(backend: KeyedStateBackend) -> Model:
    return content(whole_of(backend).get(NAME, ("", {}))[1])


def act(sessions: OpenSessions, model: Model, draw: random.Random, now: int) -> None:
    """Read the sessions of some keys, remove some of them and begin others, in the table and the model alike."""
    keys = draw.sample(KEYS, draw.randrange(1, 5))
    owners, numbers = sessions.find_keys([pa.array(keys, pa.int64())], len(keys))
    columns = sessions.take(numbers)
    found: Model = {}
    for owner, *session in zip(owners.tolist(), *(column.to_pylist() for column in columns[1:3])):
        found.setdefault(keys[owner], []).append((session[0], session[1]))
    assert {key: sorted(each, key=lambda one: one[1]) for key, each in found.items()} == {
        key: model[key] for key in keys if key in model
    }
    gone = np.array([draw.random() < 0.4 for _ in numbers], bool)
    starts = columns[2].to_numpy()
    for owner, start in zip(owners[gone].tolist(), starts[gone].tolist()):
        model[keys[owner]] = [each for each in model[keys[owner]] if each[1] != start]
    sessions.remove(numbers[gone])
    new = [key for key in keys if draw.random() < 0.6]
    counts = [draw.randrange(1, 9) for _ in new]
    begins = [now] * len(new)
    numbers_of = (pa.array(each, pa.int64()) for each in (new, counts, begins, [now + 5] * len(new)))
    batch = record_batch(list(numbers_of), len(new))
    sessions.add(batch, key_hashes(batch.columns[:1], len(new)))
    for key, count in zip(new, counts):
        model.setdefault(key, []).append((count, now))
    for key in keys:
        if key in model and not model[key]:
            del model[key]
    sessions.settle()


def copied(model: Model) -> Model:
    return {key: list(row) for key, row in model.items()}


def test_copies_follow_by_changes() -> None:
    draw, model = random.Random(4), Model()
    leader, copy, plain = table(), table(), ValueTable()
    for now in range(200):
        act(leader, model, draw, now)
        if draw.random() < 0.4 and (changes := leader.delta()):
            copy.apply(changes)
            plain.apply(by_address(changes))
            assert content(copy.entries()) == content(plain.entries()) == content(leader.entries()) == model
            assert leader.delta() == {}
            if draw.random() < 0.3:
                copy = table()
                copy.apply(leader.entries())
    parts: Model = {}
    for piece in leader.told_pieces():
        for group, part in divided(piece, lambda hashes: groups_of(hashes, 16)).items():
            copy = table_of(part)
            copy.apply(part)
            assert all(key_group(key, 16) == group for key in copy.addresses())
            parts |= content(copy.entries())
    assert parts == model


class SessionsCopy(TaskCopy):
    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, table())


@pytest.mark.parametrize("memory", [0, 1_500, 1 << 20], ids=["nothing stays", "some rows stay", "all rows stay"])
@pytest.mark.parametrize("seed", one_of(range(3)))
def test_copies_go_on_fail_and_are_killed(memory: int, seed: int) -> None:
    machine = Machine(on_disk=True)
    assert isinstance(machine.plan, OnDisk)
    machine.plan = OnDisk(machine.plan.paths, memory)
    draw, model, before = random.Random(seed), Model(), Model()
    turns: Turns[SessionsCopy] = Turns(machine, SessionsCopy)
    for step in range(0, 600, 10):
        for turn in range(draw.randrange(4)):
            act(turns.copy.table, model, draw, step + turn)
        if draw.random() < 0.05:
            turns.copy.table.remove_all()
            model = {}
        outcome = draw.random()
        if not 0.6 <= outcome < 0.8:
            before = copied(model)
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.15)
        elif outcome < 0.8:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
            model = copied(before)
        else:
            turns.end_epoch()
            turns.drop(killed=draw.random() < 0.5)
        turns.begin_epoch(draw.randrange(2))
        if step % 5 == 0:
            assert of_backend(turns.copy.backend) == model
    turns.close()


def test_from_memory_to_disk() -> None:
    """Sessions in columns have no timers: a task that takes them over plans anew."""
    config = WindowAggregate(
        window=WindowSpec("SESSION", 10),
        time=1,
        zoned=False,
        keys=(0,),
        key_types=TYPES[:1],
        calls=(aggregate_call("COUNT", ()),),
        properties=("END",),
    )
    with harness(config) as columns:
        for ms in (1, 5):
            columns.process_element(element(("a", START + timedelta(milliseconds=ms)), TYPES).value)
        with columns.fresh(state_backend=EmbeddedRocksDBStateBackend()).restore(columns.snapshot()).open() as objects:
            objects.process_watermark(13)
            assert objects.values == []
            objects.process_watermark(14)
            assert changes_of(objects.values) == [(0, ("a", 2, START + timedelta(milliseconds=15)))]
            assert objects.keys("sessions") == []
