"""``TimeBufferTable`` against plain lists, on copies that follow each other by deltas."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millrace.runtime.state import time_buffer_table
from millrace.runtime.state.time_buffer_table import SLOT_BITS, TimeBufferTable

KEYS = ["a", "b", ("c", 1)]
SLOT = 1 << SLOT_BITS
ELEMENTS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(-2 * SLOT, 4 * SLOT)), max_size=8)


class Buffers(RuleBasedStateMachine):
    """Elements come and get too old on the copy at hand; epochs end, another copy goes on, new ones come."""

    long_tail = merge_at = 10**9

    @initialize()
    def begin(self) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(time_buffer_table, "LONG_TAIL", self.long_tail)
        self.patched.setattr(time_buffer_table, "MERGE_AT", self.merge_at)
        self.copies = [TimeBufferTable(), TimeBufferTable()]
        self.versions = [0, 0]
        self.deltas: list[bytes] = []
        self.at_work = 0
        self.needed = -(2**63)
        self.model: list[tuple[Any, int, int]] = []
        """(key, time, number of the element) in the order of arrival"""

    def teardown(self) -> None:
        self.patched.undo()

    @property
    def table(self) -> TimeBufferTable:
        return self.copies[self.at_work]

    @rule(elements=ELEMENTS)
    def add(self, elements: list[tuple[Any, int]]) -> None:
        numbers = list(range(len(self.model), len(self.model) + len(elements)))
        self.table.add_all([key for key, _ in elements], [time for _, time in elements], numbers)
        self.model += [(key, time, number) for (key, time), number in zip(elements, numbers)]

    @rule(by=st.integers(0, 2 * SLOT))
    def forget(self, by: int) -> None:
        self.needed = max(self.needed, -2 * SLOT) + by
        self.table.forget_before(self.needed)

    @rule(next_copy=st.integers(0, 1))
    def end_epoch(self, next_copy: int) -> None:
        self.deltas.append(pickle.dumps(self.table.delta()))
        self.versions[self.at_work] = len(self.deltas)
        self.at_work = next_copy
        for delta in self.deltas[self.versions[next_copy] :]:
            self.table.apply(pickle.loads(delta))
        self.versions[next_copy] = len(self.deltas)

    @rule(full=st.booleans())
    def restart(self, full: bool) -> None:
        self.deltas.append(pickle.dumps(self.table.delta()))
        fresh = TimeBufferTable()
        for delta in [pickle.dumps(self.table.entries())] if full else self.deltas:
            fresh.apply(pickle.loads(delta))
        self.copies[self.at_work] = fresh
        self.versions[self.at_work] = len(self.deltas)

    @invariant()
    def what_is_needed_is_there_in_order(self) -> None:
        for key in KEYS:
            found = list(zip(self.table.times.get(key, ()), self.table.rows.get(key, ())))
            assert found == sorted(found, key=lambda element: element[0])
            needed = [(time, number) for k, time, number in self.model if k == key and time >= self.needed]
            assert [element for element in found if element[0] >= self.needed] == sorted(needed)

    @invariant()
    def every_key_is_looked_after_once(self) -> None:
        for copy in self.copies:
            assert sorted(map(repr, (key for keys in copy._index.values() for key in keys))) == sorted(
                map(repr, copy.rows)
            )
            assert copy.rows.keys() == copy.times.keys()
            for slot, keys in copy._index.items():
                assert all(slot <= copy.times[key][-1] >> SLOT_BITS for key in keys)


class LongTails(Buffers):
    """Every element that is not in order counts as one before a long tail; three are merged."""

    long_tail, merge_at = 0, 3


TestBuffers = Buffers.TestCase
TestLongTails = LongTails.TestCase


def filled(*elements: tuple[str, int]) -> TimeBufferTable:
    table = TimeBufferTable()
    table.add_all([key for key, _ in elements], [time for _, time in elements], [f"{k}{t}" for k, t in elements])
    return table


def test_a_delta_holds_what_was_added_since_the_last_one() -> None:
    table = filled(("a", 5), ("b", 3), ("a", 1))
    assert table.delta() == {"a": ([5, 1], ["a5", "a1"]), "b": ([3], ["b3"])}
    table.add_all(["b"], [2], ["b2"])
    assert table.delta() == {"b": ([2], ["b2"])}
    assert table.delta() == {}
    assert table.entries() == {"a": ([1, 5], ["a1", "a5"]), "b": ([2, 3], ["b2", "b3"])}


def test_what_is_too_old_is_in_no_delta() -> None:
    table = filled(("a", 5), ("b", 3), ("b", 30))
    table.forget_before(6)
    assert table.entries() == {"b": ([30], ["b30"])}
    assert table.delta() == {"b": ([30], ["b30"])}
    table.forget_before(31)
    assert table.delta() == {}


def test_idle_keys_are_forgotten_too() -> None:
    table = filled(*((str(number), number) for number in range(1000)))
    table.forget_before(1000 + SLOT)
    assert (table.rows, table.times, dict(table._index), table._index._heap) == ({}, {}, {}, [])


def test_a_busy_key_holds_about_what_is_needed() -> None:
    table = TimeBufferTable()
    most = 0
    for time in range(0, 100 * SLOT, 8):
        table.add_all(["a"], [time], [time])
        table.forget_before(time - 5 * SLOT)
        most = max(most, len(table.rows["a"]))
        if time % SLOT == 0:
            table.delta()
    needed = 5 * SLOT // 8
    assert needed <= most <= 3 * needed // 2 + 2 * SLOT // 8
    table.forget_before(100 * SLOT)
    assert len(table._added) <= SLOT // 8


def test_what_is_to_be_saved_does_not_keep_old_elements_alive() -> None:
    table = TimeBufferTable()
    for time in range(1000):
        table.add_all(["a"], [time], [time])
        table.forget_before(time - 10)
    assert len(table._added) <= 11


@pytest.mark.parametrize("late", [1, 10, 1000])
def test_elements_before_a_long_tail(late: int) -> None:
    tail = time_buffer_table.LONG_TAIL * 2
    table = TimeBufferTable()
    table.add_all(["a"] * tail, range(tail), range(tail))
    times = [number * 7 % 100 for number in range(late)]
    table.add_all(["a"] * late, times, [(time, number) for number, time in enumerate(times)])
    expected = sorted([(time, -1, time) for time in range(tail)] + [(t, n, (t, n)) for n, t in enumerate(times)])
    assert table.times["a"] == [time for time, _, _ in expected]
    assert table.rows["a"] == [value for _, _, value in expected]
