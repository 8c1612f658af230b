"""The buffers alone: elements and marks come in, results in any order, and all goes on as early as the order allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import Status
from millrace.runtime.operators.async_wait import Batch, Buffer, Entry, Mark, OrderedBuffer, UnorderedBuffer

MARKS: list[Mark] = [10, Status.IDLE, 20, Status.ACTIVE, 30, 40]
EVENTS = st.lists(st.tuples(st.sampled_from(["add", "add", "mark", "complete", "complete"]), st.integers(0, 5)))
"""an element with so many results modulo 3, one of the marks, or the results of one of the open elements"""

Stream = list[tuple[str, Any]]
"""("element", its number) or ("mark", mark)"""
Model = Callable[[Stream, list[int]], Stream]
"""what has gone on, given all that came in and the elements that are complete, in the order of their completion"""


def in_order(stream: Stream, completed: list[int]) -> Stream:
    found: Stream = []
    for kind, item in stream:
        if kind == "element" and item not in completed:
            break
        found.append((kind, item))
    return found


def between_marks(stream: Stream, completed: list[int]) -> Stream:
    found: Stream = []
    segment: list[int] = []
    for kind, item in [*stream, ("end", None)]:
        if kind == "element":
            segment.append(item)
            continue
        found += [("element", element) for element in completed if element in segment]
        if kind == "end" or not set(segment) <= set(completed):
            break
        found.append((kind, item))
        segment = []
    return found


def flat(items: list[Batch | Mark]) -> list[Any]:
    """(result, timestamp) pairs and marks."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, Batch):
            assert len(item.values) == len(item.timestamps)
            found += zip(item.values, item.timestamps)
        else:
            found.append(item)
    return found


@pytest.mark.parametrize(("kind", "model"), [(OrderedBuffer, in_order), (UnorderedBuffer, between_marks)])
@given(events=EVENTS)
def test_property_what_goes_on_after_every_event(
    kind: type[Buffer], model: Model, events: list[tuple[str, int]]
) -> None:
    buffer, stream, entries, completed = kind(), Stream(), list[Entry](), list[int]()
    results: list[list[str]] = []
    found, left = [], 0
    for what, number in events:
        still_open = [element for element in range(len(entries)) if element not in completed]
        if what == "add":
            results.append([f"{len(entries)}.{n}" for n in range(number % 3)])
            stream.append(("element", len(entries)))
            entries.append(Entry("value", number or None))
            buffer.add(entries[-1])
        elif what == "mark":
            stream.append(("mark", MARKS[number]))
            buffer.mark(MARKS[number])
        elif still_open:
            completed.append(still_open[number % len(still_open)])
            left += buffer.complete(entries[completed[-1]], results[completed[-1]])

        found += flat(buffer.ready.take())
        expected = model(stream, completed)
        wanted: list[Any] = []
        for which, item in expected:
            wanted += [(result, entries[item].timestamp) for result in results[item]] if which == "element" else [item]
        assert found == wanted
        assert left == len([item for which, item in expected if which == "element"])


@pytest.mark.parametrize("kind", [OrderedBuffer, UnorderedBuffer])
def test_a_batch_knows_whether_anything_in_it_has_a_timestamp(kind: type[Buffer]) -> None:
    buffer = kind()
    segments = [[Entry("v", timestamp) for timestamp in timestamps] for timestamps in ([None, None], [None, 3], [4])]
    for entries in segments:
        for entry in entries:
            buffer.add(entry)
        buffer.mark(1)
    for entries in reversed(segments):
        for entry in entries:
            buffer.complete(entry, ["r"])
    batches = [item for item in buffer.ready.take() if isinstance(item, Batch)]
    assert [(batch.timestamps, batch.stamped) for batch in batches] == [
        ([None, None], False),
        ([None, 3], True),
        ([4], True),
    ]
