"""Every kind of state with time to live against a naive model, on copies that follow each other by deltas."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.state.ttl_model import Driver, Entry

from millrace.common.typeinfo import Types
from millrace.datastream.functions import AggregateFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

INT = Types.INT()
UPDATE, VISIBILITY = StateTtlConfig.UpdateType, StateTtlConfig.StateVisibility


class OneEntry(Driver):
    def empty(self) -> Entry | None:
        return None

    def select(self, row: Entry, counts: Callable[[Entry], bool], show: Callable[[int, Any], Any]) -> Any:
        return show(*row) if counts(row) else None


class Value(OneEntry):
    def descriptor(self) -> StateDescriptor:
        return ValueStateDescriptor("state", INT)

    def do_update(self, draw: Random) -> None:
        value = draw.choice([None, 1, 2, 3])
        self.state.update(value)
        self.model[self.at] = None if value is None else self.written(self.model[self.at], value)

    def do_value(self, draw: Random) -> None:
        self.model[self.at], seen = self.read(self.model[self.at])
        assert self.state.value() == seen


class Folding(OneEntry):
    """Adding to an accumulator: ``first`` makes one of an element, ``fold`` combines two."""

    def first(self, value: int) -> Any:
        raise NotImplementedError

    def fold(self, one: Any, other: Any) -> Any:
        raise NotImplementedError

    def result(self, accumulator: Any) -> Any:
        return accumulator

    def do_add(self, draw: Random) -> None:
        value = draw.randint(1, 3)
        self.state.add(value)
        self.model[self.at] = self.merged(self.model[self.at], (self.now, self.first(value)), self.fold)

    def do_get(self, draw: Random) -> None:
        self.model[self.at], seen = self.read(self.model[self.at])
        assert self.state.get() == (None if seen is None else self.result(seen))

    def do_absorb(self, draw: Random) -> None:
        others = self.others(draw)
        self.state.absorb(others)
        for other in others:
            entry, self.model[other] = self.model[other], None
            if entry is not None:
                self.model[self.at] = self.merged(self.model[self.at], entry, self.fold)


class Reducing(Folding):
    def descriptor(self) -> StateDescriptor:
        return ReducingStateDescriptor("state", self.fold, INT)

    def first(self, value: int) -> int:
        return value

    def fold(self, one: int, other: int) -> int:
        return one * 10 + other


class Concatenate(AggregateFunction):
    """Accumulators are lists, so that one that is shared by mistake shows."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_a.extend(acc_b)
        return acc_a


class Aggregating(Folding):
    def descriptor(self) -> StateDescriptor:
        return AggregatingStateDescriptor("state", Concatenate(), INT)

    def first(self, value: int) -> list[int]:
        return [value]

    def fold(self, one: list[int], other: list[int]) -> list[int]:
        return one + other

    def result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(accumulator)


class List(Driver):
    def descriptor(self) -> StateDescriptor:
        return ListStateDescriptor("state", INT)

    def empty(self) -> list[Entry]:
        return []

    def select(self, row: list[Entry], counts: Callable[[Entry], bool], show: Callable[[int, Any], Any]) -> Any:
        return [show(*entry) for entry in row if counts(entry)] or None

    def do_write(self, draw: Random) -> None:
        values = [draw.randint(1, 3) for _ in range(draw.randint(0, 3))]
        how = draw.choice(["add", "add_all", "update"])
        if how == "add":
            for value in values:
                self.state.add(value)
        else:
            getattr(self.state, how)(values)
        kept = [] if how == "update" else self.model[self.at]
        self.model[self.at] = [*kept, *((self.now, value) for value in values)]

    def do_get(self, draw: Random) -> None:
        row = self.model[self.at]
        assert list(self.state.get()) == [entry[1] for entry in row if not self.hidden(entry)]
        alive = [entry for entry in row if not self.expired(entry)]
        if 2 * len(alive) <= len(row):  # only then: expired elements that may be seen stay until they are removed
            row = [entry for entry in row if not self.over(entry)]
        self.model[self.at] = [entry if self.expired(entry) else self.read(entry)[0] for entry in row]

    def do_absorb(self, draw: Random) -> None:
        others = self.others(draw)
        self.state.absorb(others)
        for other in others:
            self.model[self.at] = self.model[self.at] + self.model[other]
            self.model[other] = []


class Map(Driver):
    def descriptor(self) -> StateDescriptor:
        return MapStateDescriptor("state", INT, INT)

    def empty(self) -> dict[int, Entry]:
        return {}

    def select(self, row: dict[int, Entry], counts: Callable[[Entry], bool], show: Callable[[int, Any], Any]) -> Any:
        return {key: show(*entry) for key, entry in row.items() if counts(entry)} or None

    def read_key(self, key: int) -> Any:
        row = self.model[self.at]
        entry, seen = self.read(row.get(key))
        if entry is not None:
            row[key] = entry
        else:
            row.pop(key, None)
        return seen

    def do_put(self, draw: Random) -> None:
        items = {draw.randint(1, 3): draw.randint(1, 3) for _ in range(draw.randint(1, 3))}
        at_once = draw.random() < 0.5
        if at_once:
            self.state.put_all(items)
        row = self.model[self.at]
        for key, value in items.items():
            if not at_once:
                self.state.put(key, value)
            old = row.get(key)
            if old is not None and self.hidden(old):
                del row[key]  # it counts as absent, so it comes back as the last one
            row[key] = self.written(old, value)

    def do_remove(self, draw: Random) -> None:
        key = draw.randint(1, 3)
        self.state.remove(key)
        self.model[self.at].pop(key, None)

    def do_get(self, draw: Random) -> None:
        key = draw.randint(1, 3)
        assert self.state.get(key) == self.read_key(key)

    def do_contains(self, draw: Random) -> None:
        key = draw.randint(1, 3)
        assert self.state.contains(key) == (self.read_key(key) is not None)

    def do_walk(self, draw: Random) -> None:
        view = draw.choice(["items", "keys", "values"])
        seen = {key: self.read_key(key) for key in list(self.model[self.at])}
        seen = {key: value for key, value in seen.items() if value is not None}
        assert list(getattr(self.state, view)()) == list(getattr(seen, view)())

    def do_is_empty(self, draw: Random) -> None:
        assert self.state.is_empty() == all(map(self.hidden, self.model[self.at].values()))


@pytest.mark.draw(2)
@pytest.mark.parametrize("characteristic", StateTtlConfig.TtlTimeCharacteristic)
@pytest.mark.parametrize("visibility", StateTtlConfig.StateVisibility)
@pytest.mark.parametrize("update_type", [UPDATE.OnCreateAndWrite, UPDATE.OnReadAndWrite])
@pytest.mark.parametrize("kind", [Value, Reducing, Aggregating, List, Map])
@pytest.mark.parametrize("on_disk", [False, True])
@settings(max_examples=examples(15))
@given(
    steps=st.lists(st.integers(0, 100_000), min_size=40, max_size=80),
    cleanup=st.none() | st.tuples(st.sampled_from([0, 1, 5]), st.booleans()),
)
def test_like_the_model(
    kind: type[Driver],
    update_type: Any,
    visibility: Any,
    characteristic: Any,
    cleanup: Any,
    steps: list[int],
    on_disk: bool,
) -> None:
    kind(update_type, visibility, characteristic, cleanup, on_disk).run(steps)
