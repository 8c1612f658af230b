"""``CheckpointLock``: who ends the epoch goes first, and nobody gets in after that."""

from __future__ import annotations

import threading

import pytest

from millrace.connectors.checkpoint_lock import Cancelled, CheckpointLock


def in_thread(loop: threading.Thread) -> threading.Thread:
    loop.start()
    return loop


def test_it_may_be_entered_again_inside() -> None:
    lock = CheckpointLock()
    with lock, lock:
        assert not lock.closed
    lock.close(lambda: pytest.fail("nobody is inside"))
    assert lock.closed
    with pytest.raises(Cancelled), lock:
        pytest.fail("it is closed")


def test_closing_waits_for_who_is_inside_also_for_his_inner_turns() -> None:
    lock, inside, leave = CheckpointLock(), threading.Event(), threading.Event()
    steps: list[str] = []

    def run() -> None:
        with lock:
            inside.set()
            leave.wait(10)
            with lock:  # as collect() does: the lock is being closed, but this thread has it
                steps.append("emitted")
            steps.append("moved on")

    thread = in_thread(threading.Thread(target=run))
    inside.wait(10)
    lock.close(leave.set)
    assert steps == ["emitted", "moved on"]
    thread.join(10)


def test_a_loop_around_the_lock_does_not_keep_it_from_closing() -> None:
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
    while not turns:
        pass
    lock.close(lambda: None)
    seen = turns
    thread.join(10)
    assert not thread.is_alive()
    assert turns == seen
