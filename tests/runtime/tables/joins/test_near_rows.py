"""Rows of interval joins in columns as a table of state, in memory and on disk: copies follow by changes, go on, fail
and are killed, against a list."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import TASK, Machine, TaskCopy, Turns, machine_with, whole_of

from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.rows import row_runs, run_file
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import divided, table_of
from millrace.runtime.state.tables import ABSENT
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import NO_PAST
from millrace.runtime.tables import changing_rows
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.joins.near_rows import NearRows

NAME = "near"
KEYS = [None, *range(6)]
SPAN = 4
LIFE = 7
Near = tuple[int | None, int, str, bool]
"""(key, time, text, whether the row has had a partner)"""
Model = list[Near]
"""rows in the order of arrival"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, batches and windows of runs are few, so that all borders are met."""
    monkeypatch.setattr(row_runs, "LEAST_STEP", 5)
    monkeypatch.setattr(row_runs, "SLICE", 3)
    monkeypatch.setattr(run_file, "BATCH", 7)
    monkeypatch.setattr(run_file, "WINDOW", 2)
    monkeypatch.setattr(changing_rows, "FEW", 3)


def table() -> NearRows:
    return NearRows([pa.string(), pa.int64()], (1,), SPAN)


def hashes(keys: list[int | None]) -> Any:
    return key_hashes([pa.array(keys, pa.int64())], len(keys))


def content(entries: Mapping[Any, Any]) -> Model:
    return [
        (key, time, text, met)
        for (key,), (_, row, _) in entries.items()
        for time, of in row.items()
        for (text, _), met in of
    ]


def alike(rows: Iterable[Near]) -> tuple[list[Any], Counter[Near]]:
    """What counts: the rows of a key and a time by arrival; which of equal ones has had a partner makes no
    difference."""
    rows = list(rows)
    return sorted((repr(row[:1]), row[1], row[2]) for row in rows), Counter(rows)


def in_order(rows: Iterable[Near]) -> dict[Any, list[str]]:
    found: dict[Any, list[str]] = {}
    for key, time, text, _ in rows:
        found.setdefault((key, time), []).append(text)
    return found


def check(rows: Iterable[Near], model: Model) -> None:
    rows = list(rows)
    assert alike(rows) == alike(model)
    assert in_order(rows) == in_order(model)


def of_backend(backend: KeyedStateBackend) -> Model:
    return content(whole_of(backend).get(NAME, ("", {}))[1])


def found_near(rows: NearRows, key: int | None, first: int, last: int) -> tuple[Ids, Model]:
    numbers = rows.near(hashes([key]), np.array([first]), np.array([last]))
    columns = [column.to_pylist() for column in rows.rows_at(numbers)]
    shown = list(zip(columns[1], rows.times_of(numbers).tolist(), columns[0], rows.have_met(numbers).tolist()))
    chosen = [place for place, row in enumerate(shown) if row[0] == key and first <= row[1] <= last]
    return numbers[chosen], [shown[place] for place in chosen]


def act(rows: NearRows, model: Model, draw: random.Random, now: int) -> None:
    """Look at some rows, let some of them meet a partner, and add others."""
    for _ in range(3):
        key, first = draw.choice(KEYS), now + draw.randrange(-LIFE, 5)
        last = first + draw.randrange(SPAN)
        numbers, found = found_near(rows, key, first, last)
        check(found, [row for row in model if row[0] == key and first <= row[1] <= last])
        meets = [place for place in range(len(found)) if draw.random() < 0.4]
        rows.mark(numbers[meets])
        for place in meets:
            if not found[place][3]:
                at = model.index(found[place])
                model[at] = (*found[place][:3], True)
    fresh: Model = [
        (draw.choice(KEYS), now + draw.randrange(6), draw.choice("xy"), draw.random() < 0.3)
        for _ in range(draw.randrange(6))
    ]
    if fresh:
        keys, times, texts, met = (list(each) for each in zip(*fresh))
        of_time = np.array(times, np.int64)
        columns = [pa.array(texts, pa.string()), pa.array(keys, pa.int64())]
        rows.add_rows(columns, of_time, rows.hashes_at(hashes(keys), of_time), np.array(met))
        model += fresh
    rows.settle()


def expire(rows: NearRows, model: Model, now: int) -> None:
    """Remove the rows that no partner can meet any more."""
    gone = [row for row in model if row[1] <= now - LIFE]
    if gone:
        keys, times, *_ = (list(each) for each in zip(*gone))
        wanted = np.unique(rows.hashes_at(hashes(keys), np.array(times, np.int64)))
        of, numbers = rows.of_hashes(wanted)
        assert (rows.hashes_of(numbers) == of).all()
        rows.remove(numbers[rows.times_of(numbers) <= now - LIFE])
        rows.settle()
    model[:] = [row for row in model if row[1] > now - LIFE]


def test_copies_follow_by_changes() -> None:
    draw, model = random.Random(5), Model()
    leader, copy = table(), table()
    for now in range(250):
        act(leader, model, draw, now)
        if draw.random() < 0.5:
            expire(leader, model, now)
        check(content(leader.entries()), model)
        if draw.random() < 0.4:
            copy.apply(leader.delta())
            check(content(copy.entries()), model)
            assert leader.delta() == {}
            if draw.random() < 0.3:
                copy = table()
                copy.apply(leader.entries())
    # Times and hashes are those of all rows, from which a restored operator plans.
    ((times, found),) = leader.times_and_hashes()
    assert sorted(times.tolist()) == sorted(row[1] for row in model)
    assert set(found.tolist()) == set(leader.hashes_of(leader.numbers()).tolist())


def test_copies_of_a_part_of_the_keys_follow_by_changes() -> None:
    draw, model, leader = random.Random(7), Model(), table()
    parts: dict[int, Any] = {}
    for now in range(60):
        act(leader, model, draw, now)
        expire(leader, model, now)
        changes = leader.delta()
        for group, part in divided(changes, lambda each: groups_of(each, 16)).items() if changes else ():
            parts.setdefault(group, table_of(part)).apply(part)
    for group, copy in parts.items():
        assert all(key_group(key, 16) == group for key in copy.addresses())
    check([row for copy in parts.values() for row in content(copy.entries())], model)


def test_changes_by_address_are_those_of_an_earlier_version() -> None:
    for change in (ABSENT, (False, {3: ()}, [])):
        with pytest.raises(ValueError, match="take a savepoint"):
            table().apply({(1,): change})


class NearCopy(TaskCopy):
    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        self.rows = self.backend.use(NAME, table())


@pytest.fixture(params=[None, 0, 1_500, 1 << 20], ids=["in memory", "nothing stays", "some rows stay", "all rows stay"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("seed", one_of(range(3)))
def test_copies_go_on_fail_and_are_killed(machine: Machine, seed: int) -> None:
    draw, model, before = random.Random(seed), Model(), Model()
    turns: Turns[NearCopy] = Turns(machine, NearCopy)
    for step in range(60):
        for _ in range(draw.randrange(4)):
            act(turns.copy.rows, model, draw, step)
        expire(turns.copy.rows, model, step)
        outcome = draw.random()
        if not 0.6 <= outcome < 0.8:
            before = list(model)
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.15)
            if draw.random() < 0.3:
                with turns.between_epochs():
                    act(turns.copy.rows, model, draw, step)
                turns.go_on()
                continue
        elif outcome < 0.8:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
            model = list(before)
        else:
            turns.end_epoch()
            turns.drop(killed=draw.random() < 0.5)
        turns.begin_epoch(draw.randrange(2))
        if step % 5 == 0:
            check(of_backend(turns.copy.backend), model)
            for key in (None, 0, 99):
                found = turns.copy.rows.row((key,))
                assert sorted(found or {}) == sorted({row[1] for row in model if row[0] == key})
    check(of_backend(turns.copy.backend), model)
    turns.close()


def test_state_goes_from_disk_to_memory_and_back(machine: Machine) -> None:
    draw, model = random.Random(5), Model()
    turns: Turns[NearCopy] = Turns(machine, NearCopy)
    for now in range(20):
        act(turns.copy.rows, model, draw, now)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, table())
        for piece in pieces():
            memory.apply(piece)
        check(of_backend(memory), model)
        other = Machine(on_disk=True)
        onto = NearCopy(other.plan.state_of("another", TASK, dict))
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        check(of_backend(onto.backend), model)
        onto.working.close()
        other.lose_disk()
    turns.close()
