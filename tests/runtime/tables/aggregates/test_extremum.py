"""MIN and MAX of rows that are taken back, of groups so large that their best values are remembered, against all
values."""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.tabular import check_table, schema

from millrace.relational.functions.aggregates.registry import Folding, aggregate_call
from millrace.relational.rex import Ref
from millrace.relational.types import BigIntType, VarCharType
from millrace.runtime.rows.expiry import Expiry
from millrace.runtime.tables.aggregates import extremum
from millrace.runtime.tables.aggregates.aggregating import accumulation
from millrace.runtime.tables.aggregates.extremum import ColumnExtremum
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.value_rows import ValueRows
from millrace.testing import Element, EndInput, EpochEnd, SliceEnd

TYPES = (BigIntType(), BigIntType(), VarCharType(3))
CALLS = tuple(aggregate_call(name, (Ref(TYPES[at], at),)) for name in ("MIN", "MAX") for at in (1, 2))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sizes are so small that tests meet them."""
    monkeypatch.setattr(extremum, "LARGE", 3)
    monkeypatch.setattr(extremum, "BEST", 2)
    monkeypatch.setattr(extremum, "FIRST", 1)


class Now:
    """A clock that is set."""

    time = 0

    def begin(self) -> int:
        return self.time

    def now(self) -> int:
        return self.time

    def end(self) -> None:
        """Does nothing."""


class Values:
    """An extremum of several keys, and all values by themselves."""

    def __init__(self, name: str, ttl: int = 0) -> None:
        self.clock, self.ttl = Now(), ttl
        expiry = Expiry(ttl, self.clock) if ttl else None

        def make(types: Any, counts: int, bare: bool) -> ValueRows:
            self.rows = ValueRows([pa.int64()], types, counts, bare, expiry)
            return self.rows

        folding = accumulation(aggregate_call(name, (Ref(BigIntType(), 0),)), False)
        assert isinstance(folding, Folding)
        self.best = max if name == "MAX" else min
        self.extremum = ColumnExtremum(folding, [pa.int64()], [pa.int64()], make)
        self.model: dict[int, dict[int, tuple[int, int]]] = {}
        """key -> value -> (count, time of the last write)"""
        self.slots: dict[int, int | None] = {}

    def live(self, key: int) -> dict[int, tuple[int, int]]:
        known = self.model.get(key, {}).items()
        return {value: each for value, each in known if not self.ttl or each[1] > self.clock.time - self.ttl}

    def change(self, rows: list[tuple[int, int, int]]) -> None:
        """:param rows: (key, value, sign)."""
        keys = list(dict.fromkeys(key for key, _, _ in rows))
        ids = np.array([keys.index(key) for key, _, _ in rows])
        slots = [self.slots.get(key) for key in keys]
        signs = pa.array([sign for _, _, sign in rows])
        self.extremum.update(ids, [pa.array([row[1] for row in rows])], signs, [(key,) for key in keys], slots)
        self.slots |= dict(zip(keys, slots))
        for (key, value), net in Counter({row[:2]: 0 for row in rows}).items():
            net += sum(sign for *name, sign in rows if tuple(name) == (key, value))
            if net:
                of_key = self.model[key] = self.live(key) | {}
                count = of_key.pop(value, (0, 0))[0] + net
                if count:
                    of_key[value] = (count, self.clock.time)

    def check(self, key: int) -> None:
        there = [value for value, (count, _) in self.live(key).items() if count > 0]
        assert self.slots[key] == (self.best(there) if there else None)


@pytest.mark.parametrize("name", ["MIN", "MAX"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_value_is_taken_back_again_and_again(name: str, seed: int) -> None:
    draw, values = random.Random(seed), Values(name)
    for step in range(400):
        rows = []
        for key in draw.sample(range(3), draw.randrange(1, 4)):
            there = [value for value, (count, _) in values.live(key).items() if count > 0]
            for _ in range(draw.randrange(4)):
                rows.append((key, draw.randrange(30), draw.choice([1, 1, -1])))
            if there and draw.random() < 0.7:
                value = values.best(there)
                rows.append((key, value, -values.model[key][value][0]))
        draw.shuffle(rows)
        if rows:
            values.change(rows)
            for key in {row[0] for row in rows}:
                values.check(key)
        if draw.random() < 0.05:
            key = draw.randrange(3)
            values.extremum.clear((key,))
            values.model.pop(key, None)
            values.slots.pop(key, None)
        if step % 20 == 5:
            before = values.rows.entries(), deepcopy(values.model), dict(values.slots)
        if step % 20 == 15:  # what was then counts
            values.rows.remove(values.rows.numbers())
            values.rows.apply(before[0])
            values.model, values.slots = before[1:]
        values.extremum.settle()


@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_values_that_expire_are_not_found_when_the_best_one_goes(name: str) -> None:
    draw, values = random.Random(name), Values(name, ttl=20)
    for _ in range(400):
        values.clock.time += draw.randrange(4)
        values.change([(0, draw.randrange(12), draw.choice([1, 1, -1])) for _ in range(draw.randrange(1, 4))])
        there = [value for value, (count, _) in values.live(0).items() if count > 0]
        if there:
            # What the slot has may have expired, so it is looked at after its value was taken back.
            best = values.best([*there, *(each for each in [values.slots[0]] if each is not None)])
            net = -values.live(0).get(best, (1, 0))[0]
            values.change([(0, best, net)] if net < 0 else [(0, best, -1)])
            if best in there:
                values.check(0)
        values.extremum.settle()


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(events=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=30))
def test_groups_of_rows_that_are_taken_back(events: list[tuple[int, int, int]]) -> None:
    """A row that is there is taken back by the next event that has it."""
    there: Counter[tuple[Any, ...]] = Counter()
    script: list[Any] = []
    for key, number, step in events:
        row = (key, number, f"t{number % 4}")
        kind, there[row] = ("-D", 0) if there[row] else ("+I", 1)
        script.append(Element((kind, *row)))
        script += [SliceEnd()] if step == 0 else [EpochEnd()] if step == 1 else []
    config = GroupAggregate(keys=(0,), key_types=TYPES[:1], calls=CALLS, retracts=True)
    found = check_table(config, [schema(*TYPES)], [*script, EndInput()])
    wanted: Counter[tuple[Any, ...]] = Counter()
    for key in (0, 1):
        rows = [row for row in +there if row[0] == key]
        if rows:
            bests = (best(row[at] for row in rows) for best in (min, max) for at in (1, 2))
            wanted[(key, *bests)] += 1
    assert found == wanted
