"""Rows of OVER windows in columns as a table of state, in memory and on disk: copies follow by changes, go on, fail and
are killed, against a dict."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import TASK, Machine, TaskCopy, Turns, machine_with, whole_of

from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.rows import row_runs, run_file
from millrace.runtime.rows.expiry import Expiry, SliceClock
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import by_address, divided, table_of
from millrace.runtime.state.tables import MapTable
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import NO_PAST
from millrace.runtime.tables import changing_rows
from millrace.runtime.tables.indexed_rows import AddedRows
from millrace.runtime.tables.over.retained_columns import KeptRows, KeptTable
from millrace.runtime.tables.over.retained_rows import Need, Partitions

NAME = "kept"
KEYS = [None, *range(12)]
Model = dict[int | None, list[tuple[int, str]]]
TTL = 8
LAST_ROWS = Need(rows=2, span=-1, everything=False)
TIMES = Need(rows=0, span=4, everything=False)
"""partitions are idle 6 ms after their last row"""


class Case(NamedTuple):
    need: Need
    ttl: int = 0
    """ms until a row expires, by a clock that shows the time of the newest rows; 0: never"""


CASES = {
    "last rows": Case(LAST_ROWS),
    "times": Case(TIMES),
    "last rows, expiring": Case(LAST_ROWS, TTL),
    "times, expiring": Case(TIMES, TTL),
}
of_cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Clock:
    now = 0
    """the processing time (ms)"""


@pytest.fixture(autouse=True)
def begin() -> None:
    Clock.now = 0


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, batches and windows of runs are few, so that all borders are met."""
    monkeypatch.setattr(row_runs, "LEAST_STEP", 5)
    monkeypatch.setattr(row_runs, "SLICE", 3)
    monkeypatch.setattr(run_file, "BATCH", 7)
    monkeypatch.setattr(run_file, "WINDOW", 2)
    monkeypatch.setattr(changing_rows, "FEW", 3)


def table(ttl: int = 0) -> KeptTable:
    expiry = Expiry(ttl, SliceClock(lambda: Clock.now)) if ttl else None
    return KeptTable([pa.int64()], [pa.string()], expiry)


def content(entries: Mapping[Any, Any], ttl: int = 0) -> Model:
    """The rows of the entries of a savepoint, which were written at their times."""
    found: Model = {}
    for (key,), (_, rows, _) in entries.items():
        stored = list(dict(sorted(rows.items())).values())
        assert not ttl or all(written == row[0] for written, row in stored)
        found[key] = [row for _, row in stored] if ttl else stored
    return found


def expire(model: Model, ttl: int) -> Model:
    """Remove what has expired; returns the model."""
    if ttl:
        for key in list(model):
            model[key] = [row for row in model[key] if row[0] > Clock.now - ttl]
            if not model[key]:
                del model[key]
    return model


def of_backend(backend: KeyedStateBackend, ttl: int = 0) -> Model:
    """The whole content, without what waits to be removed."""
    kind, entries = whole_of(backend).get(NAME, ("", {}))
    assert not entries or kind == ("TTL map" if ttl else "map")
    return expire(content(entries, ttl), ttl)


def act(rows: KeptRows, model: Model, draw: random.Random, time: int, ttl: int = 0) -> None:
    """Read some partitions, remove their first rows, or all, and add others, in the table and the model alike."""
    Clock.now = time
    expire(model, ttl)
    keys = draw.sample(KEYS, draw.randrange(1, 5))
    partitions = Partitions.of([pa.array(keys, pa.int64())], len(keys))
    history = rows.find(partitions)
    found: Model = {}
    for place, *row in zip(history.owners.tolist(), *(column.to_pylist() for column in history.columns)):
        found.setdefault(keys[place], []).append((row[0], row[1]))
    assert found == {key: model[key] for key in keys if key in model}
    newest = dict(zip(keys, rows.newest(partitions).tolist()))
    assert {key: newest[key] for key in found} == {key: row[-1][0] for key, row in found.items()}
    gone = np.zeros(len(history.owners), bool)
    for place, key in enumerate(keys):
        own = np.flatnonzero(history.owners == place)
        count = draw.randrange(len(own) + 1)
        gone[own[:count]] = True
        model[key] = model.get(key, [])[count:]
    fresh = sorted(draw.choices(range(len(keys)), k=draw.randrange(5)))
    texts = [draw.choice("xyz") for _ in fresh]
    columns = [pa.array([time] * len(fresh), pa.int64()), pa.array(texts, pa.string())]
    rows.change(partitions, history, gone, np.array(fresh, np.int64), columns)
    for place, text in zip(fresh, texts):
        model[keys[place]].append((time, text))
    for key in keys:
        if not model[key]:
            del model[key]


def forget(rows: KeptRows, model: Model, time: int) -> None:
    """Remove the partitions that are idle when later rows have this time or a later one."""
    rows.forget_idle(time)
    if rows.need.only_times:
        for key in [key for key, row in model.items() if row[-1][0] < time - rows.need.idle]:
            del model[key]


def copied(model: Model) -> Model:
    return {key: list(row) for key, row in model.items()}


@of_cases
def test_copies_follow_by_changes(case: Case) -> None:
    draw, (need, ttl) = random.Random(5), case
    leader, copy, plain = table(ttl), table(ttl), MapTable()
    by_changes_alone: AddedRows | None = None
    rows = KeptRows(need, leader)
    model: Model = {}
    for time in range(200):
        act(rows, model, draw, time, ttl)
        if draw.random() < 0.3:
            forget(rows, model, time)
        assert content(leader.entries(), ttl) == model
        if draw.random() < 0.4 and (changes := leader.delta()):
            copy.apply(changes)
            plain.apply(by_address(changes))
            by_changes_alone = by_changes_alone or table_of(changes)
            by_changes_alone.apply(changes)
            assert content(copy.entries(), ttl) == model
            for other in (plain, by_changes_alone):
                assert expire(content(other.entries(), ttl), ttl) == model
            assert leader.delta() == {}
            if draw.random() < 0.3:
                copy = table(ttl)
                copy.apply(leader.entries())


def test_changes_of_a_map_are_followed() -> None:
    """Deltas of an earlier release, and of rows with an object each, are those of a map."""
    draw = random.Random(6)
    plain, copy = MapTable(), table()
    for _ in range(300):
        at = (draw.choice(KEYS),)
        choice = draw.random()
        if choice < 0.6:
            plain.put(at, draw.randrange(6), (draw.randrange(9), draw.choice("xyz")))
        elif choice < 0.9:
            plain.remove_key(at, draw.randrange(6))
        else:
            plain.remove(at)
        if draw.random() < 0.3:
            copy.apply(plain.delta())
            assert content(copy.entries()) == content(plain.entries())


def test_copies_of_a_part_of_the_keys() -> None:
    draw, model = random.Random(7), Model()
    leader = table()
    rows = KeptRows(LAST_ROWS, leader)
    for time in range(30):
        act(rows, model, draw, time)
    found: Model = {}
    for piece in leader.told_pieces():
        for group, part in divided(piece, lambda hashes: groups_of(hashes, 16)).items():
            copy = table_of(part)
            copy.apply(part)
            assert all(key_group(key, 16) == group for key in copy.addresses())
            found |= content(copy.entries())
    assert found == model


class KeptCopy(TaskCopy):
    def __init__(self, working: WorkingState, case: Case) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, table(case.ttl))
        self.rows = KeptRows(case.need, self.table)

    def load(self, *args: Any) -> None:
        super().load(*args)
        self.rows.restored()


def copies(case: Case) -> Callable[[WorkingState], KeptCopy]:
    return lambda working: KeptCopy(working, case)


@pytest.fixture(params=[None, 0, 1_500, 1 << 20], ids=["in memory", "nothing stays", "some rows stay", "all rows stay"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    with machine_with(request.param) as found:
        yield found


@of_cases
@pytest.mark.parametrize("seed", one_of(range(3)))
def test_copies_go_on_fail_and_are_killed(machine: Machine, case: Case, seed: int) -> None:
    draw, model, before, ttl = random.Random(seed), Model(), Model(), case.ttl
    turns: Turns[KeptCopy] = Turns(machine, copies(case))
    for step in range(60):
        for _ in range(draw.randrange(4)):
            act(turns.copy.rows, model, draw, step, ttl)
        Clock.now = step
        forget(turns.copy.rows, expire(model, ttl), step)
        outcome = draw.random()
        if not 0.6 <= outcome < 0.8:
            before = copied(model)
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.15)
            if draw.random() < 0.3:
                with turns.between_epochs():
                    act(turns.copy.rows, model, draw, step, ttl)
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
            assert of_backend(turns.copy.backend, ttl) == expire(model, ttl)
            for key in (None, 0, 99):
                assert (turns.copy.table.row((key,)) is None) == (key not in model)
    assert of_backend(turns.copy.backend, ttl) == expire(model, ttl)
    turns.close()


@of_cases
def test_state_goes_from_disk_to_memory_and_back(machine: Machine, case: Case) -> None:
    draw, model, ttl = random.Random(5), Model(), case.ttl
    turns: Turns[KeptCopy] = Turns(machine, copies(case))
    for time in range(20):
        act(turns.copy.rows, model, draw, time, ttl)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, table(ttl))
        for piece in pieces():
            memory.apply(piece)
        assert of_backend(memory, ttl) == model
        other = Machine(on_disk=True)
        onto = KeptCopy(other.plan.state_of("another", TASK, dict), case)
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        assert of_backend(onto.backend, ttl) == model
        onto.working.close()
        other.lose_disk()
    turns.close()
