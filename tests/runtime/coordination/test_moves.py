"""Moves are counted: a task that lives in another process than in the epoch before."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.metrics.report import CounterSnapshot
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.coordination.history import TaskMoves
from millrace.runtime.tasks.worker import TaskCache


def engine_with(processes: str) -> Engine:
    """Two tasks: a source, and one behind an exchange."""
    engine = Engine(job_of(lambda env: numbers(env, range(50)).rebalance().map(fragile), epoch_records=2))
    engine.workers = [TaskCache(process) for process in processes]
    return engine


BROKEN: list[int] = []


def fragile(number: int) -> int:
    if BROKEN:
        raise RuntimeError("broken")
    return number


def moves(engine: Engine) -> int:
    value = engine.coordinator.metrics.report().job("numTaskMoves")
    assert isinstance(value, CounterSnapshot)
    return value.count


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_every_change_of_process_is_a_move_of_each_task(epochs: list[int]) -> None:
    engine = engine_with("abc")
    for worker in epochs:
        engine.epoch(worker)
    assert moves(engine) == 2 * sum(one != other for one, other in pairwise(epochs))


def test_a_failed_epoch_counts_for_nothing() -> None:
    engine = engine_with("ab")
    engine.epoch(0)
    BROKEN.append(1)
    try:
        with pytest.raises(JobFailedError):
            engine.epoch(1)
    finally:
        BROKEN.clear()
    engine.coordinator.restart()
    engine.epoch(0)
    assert moves(engine) == 0
    engine.epoch(1)
    assert moves(engine) == 2


def test_each_task_is_counted_by_itself() -> None:
    known = TaskMoves()
    assert known.take([TaskAck(1, 0, 0, process="a"), TaskAck(1, 0, 1, process="b")]) == 0
    assert known.take([TaskAck(2, 0, 0, process="a"), TaskAck(2, 0, 1, process="a")]) == 1


def test_tasks_that_live_nowhere_do_not_move() -> None:
    known = TaskMoves()
    assert known.take([TaskAck(1, 0, 0, process="a")]) == 0
    assert known.take([TaskAck(2, 0, 0)]) == 0
    assert known.take([TaskAck(3, 0, 0, process="a")]) == 0
