"""How far a source function may be ahead of its reader."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from millrace.connectors import source_function
from millrace.connectors.source_function import ELEMENT, WATERMARK, Event, Handover


def put_until_full(handover: Handover, value: Any) -> int:
    number = 0
    while handover.has_room:
        handover.put(Event(ELEMENT, value))
        number += 1
    return number


def test_as_many_elements_as_it_is_told() -> None:
    handover = Handover(0, 3)
    assert put_until_full(handover, 1) == 3
    assert [event.value for event in handover.take()] == [1, 1, 1]
    handover.limit(5)
    assert put_until_full(handover, 1) == 5


@pytest.mark.parametrize("value", ["x" * 100, b"x" * 100, ("x" * 50, b"x" * 40), lambda: 0], ids=["s", "b", "t", "f"])
def test_no_more_bytes_than_a_bound_and_an_element(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_function, "MOST_BYTES", 1_000)
    handover = Handover(0, 10_000)
    first = put_until_full(handover, value)
    assert 5 <= first <= 15
    assert len(handover.take()) == first
    assert put_until_full(handover, value) == first, "what was taken does not count"


def test_an_element_that_is_larger_than_the_bound_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_function, "MOST_BYTES", 10)
    handover = Handover(0, 10_000)
    for _ in range(3):
        assert put_until_full(handover, "x" * 50) == 1
        assert len(handover.take()) == 1
    handover.put(Event(WATERMARK, 5))
    assert handover.has_room


def test_a_function_goes_on_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_function, "MOST_BYTES", 100)
    handover = Handover(0, 10_000)
    thread = threading.Thread(target=lambda: [handover.put(Event(ELEMENT, "x" * 60)) for _ in range(20)])
    thread.start()
    taken = 0
    while taken < 20:
        events = handover.take(10.0)
        assert 1 <= len(events) <= 2
        taken += len(events)
    thread.join()


def test_who_takes_is_woken_by_the_first_element_and_by_the_end() -> None:
    handover, calls = Handover(1, 10), []
    handover.on_available = lambda: calls.append(len(handover.take()))
    handover.put(Event(ELEMENT, 1))
    assert calls == [], "it was read in an earlier life"
    handover.put(Event(ELEMENT, 2))
    assert calls == [1]
    handover.on_available = lambda: calls.append(0)
    for value in range(3):
        handover.put(Event(ELEMENT, value))
    assert calls == [1, 0], "the others are taken with the first one"
    handover.finish(None)
    assert calls == [1, 0, 0]
