"""``CollectedParts``: between a job and the program that reads what it collects."""

from __future__ import annotations

import queue
import threading

import pytest

from millrace.spark.jobs.client import AHEAD, CollectedParts


def test_parts_come_in_their_order() -> None:
    parts = CollectedParts()
    assert not parts
    with pytest.raises(queue.Empty):
        parts.take(0.0)
    for number in range(3):
        parts.add(b"%d" % number)
    assert parts
    assert [parts.take(0.0) for _ in range(3)] == [b"0", b"1", b"2"]


def test_who_waits_for_room_goes_on_when_one_is_taken() -> None:
    parts = CollectedParts()
    for _ in range(AHEAD):
        assert parts.has_room
        parts.add(b"")
    assert not parts.has_room
    waiting = threading.Thread(target=parts.wait_for_room, args=(lambda: False,))
    waiting.start()
    assert waiting.is_alive()
    parts.take(0.0)
    waiting.join(60)
    assert not waiting.is_alive()


def test_who_has_given_up_does_not_wait() -> None:
    parts = CollectedParts()
    for _ in range(AHEAD + 1):
        parts.add(b"")
    parts.wait_for_room(lambda: True)
    assert not parts.has_room


def test_a_part_that_comes_ends_the_wait_for_it() -> None:
    parts = CollectedParts()
    timer = threading.Timer(0.05, parts.add, [b"late"])
    timer.start()
    assert parts.take(60.0) == b"late"
    timer.join()
