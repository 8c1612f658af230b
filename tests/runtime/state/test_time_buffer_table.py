"""``TimeBufferTable`` against plain lists, on copies that follow each other by deltas."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millrace.runtime.state.time_buffer_table import FEW, ONE_BY_ONE, TimeBufferTable

KEYS = ["a", "b", ("c", 1)]
SPAN = 128
MOST = st.integers(1, 10)
ELEMENTS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(-2 * SPAN, 4 * SPAN)), max_size=3 * ONE_BY_ONE)


class Buffers(RuleBasedStateMachine):
    """Elements come and get too old on the copy at hand; epochs end, another copy goes on, new ones come."""

    @initialize()
    def begin(self) -> None:
        self.copies = [TimeBufferTable(), TimeBufferTable()]
        self.versions = [0, 0]
        self.deltas: list[bytes] = []
        self.at_work = 0
        self.needed = -(2**63)
        self.model: list[tuple[Any, int, int]] = []
        """(key, time, number of the element) in the order of arrival"""

    @property
    def table(self) -> TimeBufferTable:
        return self.copies[self.at_work]

    @rule(elements=ELEMENTS)
    def add(self, elements: list[tuple[Any, int]]) -> None:
        numbers = list(range(len(self.model), len(self.model) + len(elements)))
        self.table.add_all([key for key, _ in elements], [time for _, time in elements], numbers)
        self.model += [(key, time, number) for (key, time), number in zip(elements, numbers)]

    @rule(by=st.integers(0, 2 * SPAN))
    def forget(self, by: int) -> None:
        self.needed = max(self.needed, -2 * SPAN) + by
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
        entries = self.table.entries()
        for key in KEYS:
            found = list(zip(*entries.get(key, ((), ()))))
            assert found == sorted(found, key=lambda element: element[0])
            assert [element for element in found if element[0] >= self.needed] == self.expected(key, -(2**63), 2**63)

    @rule(asked=ELEMENTS, bounds=st.lists(st.integers(-3 * SPAN, 3 * SPAN), min_size=2, max_size=2), most=MOST)
    def look(self, asked: list[tuple[Any, int]], bounds: list[int], most: int) -> None:
        lower, upper = bounds
        keys, times = [key for key, _ in asked], [time for _, time in asked]
        found: list[tuple[int, int, int]] = []
        for part in self.table.near(keys, times, lower, upper, most):
            assert len(part[0]) <= most or len(set(part[0])) == 1
            found += zip(*part)
        assert [each for each in found if each[1] >= self.needed] == [
            (place, *element)
            for place, (key, time) in enumerate(asked)
            for element in self.expected(key, time + lower, time + upper)
        ]

    def expected(self, key: Any, first: int, last: int) -> list[tuple[int, int]]:
        """(time, number) of the needed elements of a key in a range of time, by time and arrival."""
        first = max(first, self.needed)
        return sorted((time, number) for k, time, number in self.model if k == key and first <= time <= last)


TestBuffers = Buffers.TestCase


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
    table.forget_before(1000)
    assert (table.length, table._keys, table._codes_of, len(table._times)) == (0, [], {}, 0)


def test_a_busy_key_holds_about_what_is_needed() -> None:
    table = TimeBufferTable()
    most = 0
    for time in range(0, 100 * SPAN, 8):
        table.add_all(["a"], [time], [time])
        table.forget_before(time - 5 * SPAN)
        most = max(most, table.length)
        if time % SPAN == 0:
            table.delta()
    needed = 5 * SPAN // 8
    assert needed <= most <= 2 * needed + FEW
    table.forget_before(100 * SPAN)
    assert len(table._added) <= SPAN // 8


def test_what_is_to_be_saved_does_not_keep_old_elements_alive() -> None:
    table = TimeBufferTable()
    for time in range(1000):
        table.add_all(["a"], [time], [time])
        table.forget_before(time - 10)
    assert len(table._added) <= 11


def test_elements_that_are_sequences_stay_what_they_are() -> None:
    values = [(1, 2), [3, 4], np.arange(2), "ab", None]
    table = TimeBufferTable()
    table.add_all(["a"] * 5, list(range(5)), values)
    for found, value in zip(table.entries()["a"][1], values):
        assert found is value


def test_times_at_both_ends_of_what_there_is() -> None:
    """A range that begins or ends beyond them, and times so far apart that their distance is no number of 64 bits."""
    least, most = -(2**63), 2**63 - 1
    table = TimeBufferTable()
    table.add_all(["a", "a", "b", "a"], [least, most, most, 0], ["first", "last", "other", "middle"])

    def near(time: int, earlier: int, later: int) -> list[Any]:
        return [value for _, _, values in table.near(["a"], [time], earlier, later, 10) for value in values]

    assert near(0, least, most) == ["first", "middle", "last"]
    assert near(most, -5, 5) == ["last"]
    assert near(least, -5, 5) == ["first"]
    assert near(most, -(2**70), 2**70) == ["middle", "last"]
    assert near(5, 5, -5) == []


@pytest.mark.parametrize("chunk", [1, 7, 100, 3000])
def test_many_elements_in_chunks(chunk: int) -> None:
    """Runs of many sizes, against a list."""
    draw = random.Random(chunk)
    elements = [(draw.randrange(50), time + draw.randrange(300)) for time in range(3000)]
    table = TimeBufferTable()
    for start in range(0, len(elements), chunk):
        some = elements[start : start + chunk]
        table.add_all([key for key, _ in some], [time for _, time in some], list(range(start, start + len(some))))
        if start % 1000 < chunk:
            needed = start - 500
            table.forget_before(needed)
            key, time = draw.choice(some)
            found = [
                pair for _, times, values in table.near([key], [time], -200, 200, 10) for pair in zip(times, values)
            ]
            assert [pair for pair in found if pair[0] >= needed] == sorted(
                (other, number)
                for number, (at, other) in enumerate(elements[: start + len(some)])
                if at == key and max(needed, time - 200) <= other <= time + 200
            )
