"""``CheckpointLock``: who ends the epoch goes first, and nobody gets in until he has the state."""

from __future__ import annotations

import threading

import pytest

from millrace.connectors.source_function import CheckpointLock
from millrace.util.system import Cancelled


def in_thread(loop: threading.Thread) -> threading.Thread:
    loop.start()
    return loop


def test_it_may_be_entered_again_inside() -> None:
    lock = CheckpointLock()
    with lock, lock:
        assert not lock.closed
    lock.take(lambda: pytest.fail("nobody is inside"))
    lock.give_back()
    with lock:
        lock.close()
    with pytest.raises(Cancelled), lock:
        pytest.fail("it is closed")


def test_taking_waits_for_who_is_inside_also_for_his_inner_turns() -> None:
    lock, inside, leave = CheckpointLock(), threading.Event(), threading.Event()
    steps: list[str] = []

    def run() -> None:
        with lock:
            inside.set()
            leave.wait(10)
            with lock:  # as collect() does: the lock is wanted, but this thread has it
                steps.append("emitted")
            steps.append("moved on")

    thread = in_thread(threading.Thread(target=run))
    inside.wait(10)
    lock.take(leave.set)
    assert steps == ["emitted", "moved on"]
    thread.join(10)


def test_a_loop_around_the_lock_stands_still_while_it_is_taken() -> None:
    lock, turns = CheckpointLock(), 0

    def run() -> None:
        nonlocal turns
        while True:
            try:
                with lock:
                    turns += 1
            except Cancelled:
                return

    thread = in_thread(threading.Thread(target=run))
    for _ in range(3):
        before = turns
        while turns == before:
            pass
        lock.take(lambda: None)
        seen = turns
        thread.join(0.01)
        assert turns == seen
        lock.give_back()
    lock.close()
    thread.join(10)
    assert not thread.is_alive()
