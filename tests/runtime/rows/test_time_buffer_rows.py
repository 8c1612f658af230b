"""``TimeBufferRows`` on disk: copies of a task go on, fail, are killed and step back, against a list."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.rings import one_of
from tests.runtime.state.copies import TASK, Machine, TaskCopy, Turns, machine_with, whole_of

from millrace.common.types import Row
from millrace.runtime.rows.time_buffer_rows import TimeBufferRows
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.working import WorkingState
from millrace.runtime.storage import NO_PAST

NAME = "elements"
KEYS: list[Any] = [None, 1, 1.5, "a", "b", ("c", 1), Row("d", 2), float("inf"), *range(5, 15)]
MOST = 5


class Model:
    """The elements in the order of arrival: (index of the key, time, number)."""

    def __init__(self, elements: list[tuple[int, int, int]], needed: int) -> None:
        self.elements, self.needed = elements, needed

    def copy(self) -> Model:
        return Model(self.elements.copy(), self.needed)

    def near(self, key: int, first: int, last: int) -> list[tuple[int, int]]:
        """(time, number) of a key's elements with these times, by time and arrival."""
        first = max(first, self.needed)
        return sorted((time, number) for at, time, number in self.elements if at == key and first <= time <= last)

    def content(self) -> dict[Any, list[tuple[int, int]]]:
        found = {KEYS[key]: self.near(key, self.needed, 2**60) for key, _, _ in self.elements}
        return {key: elements for key, elements in found.items() if elements}


class Copy(TaskCopy):
    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, TimeBufferRows())


def act(table: TimeBufferRows, model: Model, draw: random.Random) -> None:
    """What one side of a join does with a chunk: elements come, others are looked for, old ones go."""
    if draw.random() < 0.7:
        new = [(draw.randrange(len(KEYS)), model.needed + draw.randrange(40)) for _ in range(draw.randrange(1, 12))]
        numbers = range(len(model.elements), len(model.elements) + len(new))
        table.add_all([KEYS[key] for key, _ in new], [time for _, time in new], list(numbers))
        model.elements += [(key, time, number) for (key, time), number in zip(new, numbers)]
    if draw.random() < 0.7:
        asked = [draw.randrange(len(KEYS)) for _ in range(draw.randrange(1, 8))]
        times = [model.needed + draw.randrange(40) for _ in asked]
        earlier = draw.randrange(-20, 20)
        later = earlier + draw.randrange(20)
        found: list[list[tuple[int, int]]] = [[] for _ in asked]
        order = []
        for owners, others, values in table.near([KEYS[key] for key in asked], times, earlier, later, MOST):
            assert len(owners) <= MOST or len(set(owners)) == 1
            order += owners
            for owner, other, value in zip(owners, others, values):
                found[owner].append((other, value))
        assert order == sorted(order)
        needed = [[each for each in its if each[0] >= model.needed] for its in found]
        assert needed == [model.near(key, time + earlier, time + later) for key, time in zip(asked, times)]
    if draw.random() < 0.5:
        model.needed += draw.randrange(15)
        table.forget_before(model.needed)
    if draw.random() < 0.5:
        table.settle()


def content(backend: KeyedStateBackend, model: Model) -> dict[Any, list[tuple[int, int]]]:
    """The needed elements of each key: copies remove the others sooner or later."""
    entries = whole_of(backend).get(NAME, ("", {}))[1]
    for times, _ in entries.values():
        assert times == sorted(times)
    found = {key: [each for each in zip(*entry) if each[0] >= model.needed] for key, entry in entries.items()}
    return {key: elements for key, elements in found.items() if elements}


@pytest.fixture(params=[0, 3_000, 1 << 20], ids=["nothing stays", "some stay", "all stay"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("seed", one_of(range(4)))
def test_copies_go_on_fail_and_are_killed(machine: Machine, seed: int) -> None:
    draw, model = random.Random(seed), Model([], 0)
    turns: Turns[Copy] = Turns(machine, Copy)
    for step in range(60):
        before = model.copy()
        for _ in range(draw.randrange(4)):
            act(turns.copy.table, model, draw)
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
            wanted = model.content()
            assert content(turns.copy.backend, model) == wanted
            turns.copy.table.forget_before(model.needed)
            for key in KEYS:
                assert turns.copy.table.row(key) == ([n for _, n in wanted[key]] if key in wanted else None)
    turns.close()


def test_state_goes_from_disk_to_memory_and_back(machine: Machine) -> None:
    draw, model = random.Random(5), Model([], 0)
    turns: Turns[Copy] = Turns(machine, Copy)
    for _ in range(12):
        act(turns.copy.table, model, draw)
        turns.end_epoch()
        turns.begin_epoch(0)
    for pieces in (turns.copy.backend.full_pieces, turns.copy.backend.told_pieces):
        memory = KeyedStateBackend()
        memory.use(NAME, TimeBufferRows())
        for piece in pieces():
            memory.apply(piece)
        assert content(memory, model) == model.content()
        other = Machine(on_disk=True)
        onto = Copy(other.plan.state_of("another", TASK, dict))
        onto.load(NO_PAST, turns.storage)
        for piece in memory.told_pieces():
            onto.backend.apply(piece)
        assert content(onto.backend, model) == model.content()
        onto.working.close()
        other.lose_disk()
    turns.close()


def test_memory_is_bounded_though_the_elements_are_not() -> None:
    machine = Machine(on_disk=True)
    assert isinstance(machine.plan, OnDisk)
    machine.plan = OnDisk(machine.plan.paths, 200_000)
    turns: Turns[Copy] = Turns(machine, Copy, workers=1)
    for epoch in range(40):
        table = turns.copy.table
        keys = list(range(epoch * 500, epoch * 500 + 500))
        table.add_all(keys, keys, [f"element {key}" for key in keys])
        list(table.near([key // 2 for key in keys], keys, -(10**6), 10**6, 100))
        table.settle()
        assert table.bytes_in_memory < 600_000
        turns.end_epoch()
        turns.begin_epoch(0)
    assert len(whole_of(turns.copy.backend)[NAME][1]) == 20_000
    turns.close()
    machine.lose_disk()


def test_what_is_too_old_leaves_the_disk() -> None:
    machine = Machine(on_disk=True)
    turns: Turns[Copy] = Turns(machine, Copy, workers=1)
    most = 0
    for epoch in range(200):
        table = turns.copy.table
        table.add_all([epoch * 20 + n for n in range(20)], [epoch] * 20, ["x" * 100] * 20)
        table.forget_before(epoch - 10)
        table.settle()
        turns.end_epoch()
        turns.begin_epoch(0)
        most = max(most, turns.copy.backend.figures()[NAME]["estimate-num-keys"])
    assert most < 200 * 20 // 2
    turns.close()
    machine.lose_disk()
