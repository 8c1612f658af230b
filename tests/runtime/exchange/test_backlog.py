"""What waits for a receiver goes to it in order, however it came and however much is taken at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row, RowKind
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.runtime.elements import Chunk, LatencyMark, Status
from millrace.runtime.exchange.codec import Mark
from millrace.runtime.exchange.exchange import PlacedMark
from millrace.runtime.exchange.flow_writer import Backlog

MARKS = st.integers(0, 9) | st.sampled_from(list(Status)) | st.just(LatencyMark(1, 2, 3))
Block = tuple[int, ...]
"""kinds of rows that stay together"""
BLOCKS = st.lists(st.sampled_from([(INSERT,), (INSERT,), (DELETE,), (UPDATE_BEFORE, UPDATE_AFTER)]), max_size=6)
STREAM = st.lists(BLOCKS | MARKS, max_size=6)
"""elements and marks that come at once"""
STEPS = st.lists(STREAM | st.integers(0, 7).map(lambda most: (most,)), max_size=20)
"""what comes, and (how much is taken,)"""
FORMS = st.sampled_from(["values", "single rows", "batches"])
Element = tuple[int, int, int | None, int | None]
"""(number, kind, timestamp, key)"""


class Maker:
    """Makes chunks of numbered elements, and writes down what they are."""

    def __init__(self, form: str, timed: bool, keyed: bool) -> None:
        self.form = form
        self.timed, self.keyed = timed and form != "batches", keyed and form != "batches"
        self.said: list[Element | Mark] = []
        self._number = 0

    def chunk(self, stream: list[list[Block] | Mark]) -> tuple[Chunk, list[PlacedMark]]:
        values: list[Any] = []
        elements: list[Element] = []
        marks: list[PlacedMark] = []
        for item in stream:
            if not isinstance(item, list):
                marks.append((len(values), item))
                self.said.append(item)
                continue
            made = [self._element(kind) for block in item for kind in block]
            elements += made
            self.said += made
            values += [batch(made)] if self.form == "batches" and made else [self._value(each) for each in made]
        times = [time for _, _, time, _ in elements] if self.timed else None
        keys = [key for _, _, _, key in elements] if self.keyed else None
        return Chunk(values, times, keys), marks

    def _element(self, kind: int) -> Element:
        number = self._number
        self._number += 1
        kind = INSERT if self.form == "values" else kind
        return number, kind, 3 * number if self.timed else None, 5 * number if self.keyed else None

    def _value(self, element: Element) -> Any:
        number, kind, _, _ = element
        return number if self.form == "values" else Row.of_kind(RowKind(kind), number)


def batch(elements: list[Element]) -> Rows:
    numbers = pa.array([number for number, *_ in elements], pa.int64())
    return Rows(record_batch([numbers], len(elements)), np.array([kind for _, kind, *_ in elements], np.uint8))


def elements_in(chunk: Chunk) -> list[list[Element]]:
    """The elements of each value: a batch has several."""
    times = chunk.timestamps or [None] * len(chunk)
    keys = chunk.keys or [None] * len(chunk)
    found: list[list[Element]] = []
    for value, time, key in zip(chunk.values, times, keys):
        if isinstance(value, Rows):
            rows = zip(value.columns[0].to_pylist(), value.kind_values().tolist())
            found.append([(number, kind, None, None) for number, kind in rows])
        elif isinstance(value, Row):
            found.append([(value[0], value.get_row_kind().value, time, key)])
        else:
            found.append([(value, INSERT, time, key)])
    return found


def heard(chunk: Chunk, marks: list[PlacedMark]) -> Iterator[Element | Mark]:
    """Elements and marks in order."""
    left = list(marks)
    for place, elements in enumerate(elements_in(chunk)):
        while left and left[0][0] <= place:
            yield left.pop(0)[1]
        yield from elements
    assert all(place == len(chunk) for place, _ in left)
    yield from (mark for _, mark in left)


def without_overtaken(said: list[Element | Mark]) -> list[Element | Mark]:
    """A watermark that another one follows at once says nothing."""
    followed = zip(said, [*said[1:], None])
    return [each for each, after in followed if not (isinstance(each, int) and isinstance(after, int))]


def elements_of(said: list[Element | Mark]) -> list[Element]:
    return [each for each in said if isinstance(each, tuple) and not isinstance(each, LatencyMark)]


@given(STEPS, FORMS, st.booleans(), st.booleans())
def test_all_comes_out_in_order(steps: list[Any], form: str, timed: bool, keyed: bool) -> None:
    maker, backlog = Maker(form, timed, keyed), Backlog()
    out: list[Element | Mark] = []
    for step in [*steps, (10**6,)]:
        waiting = len(elements_of(maker.said)) - len(elements_of(out))
        assert backlog.elements == waiting
        if isinstance(step, list):
            backlog.add(*maker.chunk(step))
            continue
        most = step[0]
        taken = list(heard(*backlog.take(most)))
        out += taken
        elements = elements_of(taken)
        assert len(elements) >= min(most, waiting), "as much as there is room for"
        if len(elements) > most:
            assert len(elements) == most + 1
            assert [kind for _, kind, *_ in elements[-2:]] == [UPDATE_BEFORE, UPDATE_AFTER]
    assert without_overtaken(out) == without_overtaken(maker.said)
    assert backlog.elements == 0
    assert not backlog


def test_of_watermarks_with_nothing_between_only_the_last_is_held() -> None:
    backlog = Backlog()
    backlog.add(Chunk([1]), [(1, 5)])
    for watermark in range(6, 100):
        backlog.add(Chunk([]), [(0, watermark)])
    assert len(backlog._items) == 2
    chunk, marks = backlog.take(1)
    assert (chunk.values, marks) == ([1], [(1, 99)])


def test_marks_in_front_are_taken_without_room_and_those_behind_elements_are_not() -> None:
    backlog = Backlog()
    backlog.add(Chunk([1, 2]), [(0, 3), (0, Status.IDLE), (1, 4), (2, Status.FINISHED)])
    assert [mark for _, mark in backlog.take(0)[1]] == [3, Status.IDLE]
    assert backlog.take(0)[0].values == []
    chunk, marks = backlog.take(1)
    assert (chunk.values, marks) == ([1], [(1, 4)])
    assert backlog
    chunk, marks = backlog.take(9)
    assert (chunk.values, marks) == ([2], [(1, Status.FINISHED)])
    assert not backlog
    assert backlog.take(9)[0].values == []


def test_what_comes_is_not_changed() -> None:
    """Others may have it, too."""
    backlog = Backlog()
    first, second = Chunk([1, 2], [1, 2], ["a", "b"]), Chunk([3], [3], ["c"])
    backlog.add(first, [])
    backlog.add(second, [])
    taken, _ = backlog.take(3)
    assert (taken.values, taken.timestamps, taken.keys) == ([1, 2, 3], [1, 2, 3], ["a", "b", "c"])
    assert (first.values, first.timestamps, first.keys) == ([1, 2], [1, 2], ["a", "b"])
    assert (second.values, second.timestamps, second.keys) == ([3], [3], ["c"])
