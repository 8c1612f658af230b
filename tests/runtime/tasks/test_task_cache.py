"""Tasks that fire in one thread while others want them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.runtime.tasks.test_between import Run, idle

from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext

SECONDS = 60


class Gatekeeper:
    """Lets the test decide how long a timer fires."""

    def __init__(self) -> None:
        self.entered, self.let_pass, self.closed = threading.Event(), threading.Event(), threading.Event()


_gatekeepers: list[Gatekeeper] = []


class Slow(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.gatekeeper = _gatekeepers[-1]

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value[1] is not None:
            ctx.timer_service().register_processing_time_timer(value[1])
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        self.gatekeeper.entered.set()
        assert self.gatekeeper.let_pass.wait(SECONDS)
        yield "fired", timestamp

    def close(self) -> None:
        self.gatekeeper.closed.set()


@pytest.fixture
def gatekeeper() -> Iterator[Gatekeeper]:
    _gatekeepers.append(Gatekeeper())
    yield _gatekeepers[-1]
    _gatekeepers.pop().let_pass.set()


def in_thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def firing(gatekeeper: Gatekeeper) -> tuple[Run, threading.Thread]:
    """A job whose timer is in the middle of its work."""
    run = Run([("a", 10), *idle(3)], Slow())
    run.epoch()
    run.clock.now = 10
    thread = in_thread(lambda: run.engine.workers[0].fire_due(10))
    assert gatekeeper.entered.wait(SECONDS)
    return run, thread


def test_a_run_waits_for_the_task_that_fires(gatekeeper: Gatekeeper) -> None:
    run, thread = firing(gatekeeper)
    found: list[Any] = []
    epoch = in_thread(lambda: found.extend(run.epoch()))
    job = run.engine.workers[0]._jobs[run.engine.job.job_id]
    until = time.monotonic() + SECONDS
    while job.firing and time.monotonic() < until:  # the run has not come so far yet
        time.sleep(0.01)
    assert epoch.is_alive() and not found
    gatekeeper.let_pass.set()
    epoch.join(SECONDS)
    thread.join(SECONDS)
    assert found == [("fired", 10), ("idle", None)]
    assert not gatekeeper.closed.is_set(), "it is the same task"


def test_another_run_does_not_wait_with_it(gatekeeper: Gatekeeper) -> None:
    """The first one's epoch may have been given up since the timer hangs."""
    run, thread = firing(gatekeeper)
    cache, job_id, task = run.engine.workers[0], run.engine.job.job_id, (1, 0)
    first, second = cache.begin(job_id, task, 2), cache.begin(job_id, task, 3)
    waiting = in_thread(lambda: cache.take(first))
    until = time.monotonic() + SECONDS
    while cache._jobs[job_id].firing and time.monotonic() < until:
        time.sleep(0.01)
    assert cache.take(second) is None
    gatekeeper.let_pass.set()
    waiting.join(SECONDS)
    thread.join(SECONDS)
    assert not waiting.is_alive() and not thread.is_alive()


@pytest.mark.parametrize("end", ["the job is over", "the task lives elsewhere"])
def test_a_job_that_ends_does_not_wait(gatekeeper: Gatekeeper, end: str) -> None:
    run, thread = firing(gatekeeper)
    cache, job_id = run.engine.workers[0], run.engine.job.job_id
    if end == "the job is over":
        cache.forget(job_id)
    else:
        cache.let_go(job_id, (0, 0))
        cache.let_go(job_id, (1, 0))
    assert not gatekeeper.closed.is_set()
    gatekeeper.let_pass.set()
    thread.join(SECONDS)
    assert gatekeeper.closed.is_set(), "closed when it is done"
    assert len(cache) == 0


def test_a_task_that_a_run_wants_does_not_fire_again(gatekeeper: Gatekeeper) -> None:
    gatekeeper.let_pass.set()
    run = Run([("a", 10), *idle(3)], Slow())
    run.epoch()
    cache = run.engine.workers[0]
    assert cache.next_due() == 10
    cache.begin(run.engine.job.job_id, (1, 0), 2)
    assert cache.next_due() is None
    cache.fire_due(10)
    assert not gatekeeper.entered.is_set()


def test_a_newer_copy_takes_the_place_of_one_that_fires(gatekeeper: Gatekeeper) -> None:
    run, thread = firing(gatekeeper)
    cache = run.engine.workers[0]
    turn = cache.begin(run.engine.job.job_id, (1, 0), 2)
    other = Run([("a", 10), *idle(3)], Slow())
    other.epoch()
    newer = other.engine.workers[0]._jobs[other.engine.job.job_id].tasks[1, 0]
    cache.put(turn, newer)
    gatekeeper.let_pass.set()
    thread.join(SECONDS)
    assert cache._jobs[run.engine.job.job_id].tasks[1, 0] is newer
    assert gatekeeper.closed.is_set(), "the older one"
