"""The loop of an owner: who runs on its thread, and who does not."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from millrace.runtime.bases.epoch_protocol import EpochOrder, TaskAck, TaskOrder
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.tasks.flow import Frame, Next
from millrace.spark.workers import flow_loop
from millrace.spark.workers.flow_loop import FlowLoop, Pace
from millrace.spark.workers.flow_tasks import FlowTaskRunner
from millrace.spark.workers.frames import Positions
from millrace.spark.workers.inspection import tell

SECONDS = 60.0
"""limit of every wait, for slow machines"""
MILLISECOND = 1_000_000
NAME: ContextVar[str] = ContextVar("name", default="")


class EndError(Exception):
    """Ends the loop."""


class Owner:
    """A loop with its tasks, and the thread that waits for its end."""

    def __init__(self) -> None:
        self.loop = FlowLoop(lambda: 0.05, self._look)
        self.tasks: list[FlowTaskRunner] = []
        self.broken: list[BaseException] = []
        self.is_over = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _look(self) -> None:
        if self.is_over:
            raise EndError

    def _run(self) -> None:
        try:
            self.loop.run()
        except BaseException as error:
            self.error = error

    def task(self, partition: int, work: Callable[[Any], None]) -> FlowTaskRunner:
        """A task that does ``work`` with each payload that it gets."""
        worker: Any = Worker((0, partition), work)
        ignored: Any = worker.other
        runner = FlowTaskRunner(
            worker, self.loop, ignored, ignored, ignored, ignored, ignored, ignored, self.broken.append
        )
        self.tasks.append(runner)
        return runner

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self.is_over = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        for task in self.tasks:
            task.stop()


class Worker:
    """A ``FlowWorker`` that does something with each packet, and acknowledges an epoch when it is told to end it."""

    def __init__(self, task_id: tuple[int, int], work: Callable[[Any], None]) -> None:
        self.task_id = task_id
        self.out: list[Frame] = []
        self.ack: TaskAck | None = None
        self.has_read = self.wants_end = self.is_closed = self._ends = False
        self.progress = None
        self.threads: list[int] = []
        self.names: set[str] = set()
        self._came: list[Any] = []
        self._work = work

    def other(self, *_: object) -> None:
        """What nothing here asks for."""

    def take_printed(self) -> tuple[str, ...]:
        return ()

    take_collected = take_printed

    def waited(self) -> None:
        """See ``FlowWorker.waited``."""

    def begin(self, order: EpochOrder, own: TaskOrder, run: int, results: object, snapshots: object) -> None:
        NAME.set(f"{run}")

    def deliver(self, packet: Packet) -> None:
        self._came.append(packet.payload)

    def end(self) -> None:
        self._ends = True

    def step(self, now: int) -> Next:
        if self._came:
            self.threads.append(threading.get_ident())
            self.names.add(NAME.get())
            self._work(self._came.pop(0))
        elif self._ends:
            self._ends, self.ack = False, TaskAck(1, *self.task_id)
        return Next(bool(self._came) or self._ends)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def owner() -> Iterator[Owner]:
    owner = Owner()
    yield owner
    owner.end()
    for task in owner.tasks:
        task.join()
        task.close()
    owner.loop.close()


def give(task: FlowTaskRunner, *payloads: Any) -> None:
    for payload in payloads:
        task.deliver(Packet(0, 0, 0, 0, payload))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.002)


@contextmanager
def blocked(gate: threading.Event) -> Iterator[None]:
    """A gate at which a task waits; it is opened at the end, whatever happens."""
    try:
        yield
    finally:
        gate.set()


def test_tasks_share_a_thread_and_keep_the_order_of_their_channels(owner: Owner) -> None:
    got: list[list[int]] = [[], [], []]
    tasks = [owner.task(number, got[number].append) for number in range(3)]
    owner.start()
    for value in range(200):
        give(tasks[value % 3], value)
    until(lambda: sum(map(len, got)) == 200)
    assert got == [list(range(number, 200, 3)) for number in range(3)]
    assert len({thread for task in tasks for thread in task.worker.threads}) == 1  # type: ignore[attr-defined]


def test_a_blocked_step_keeps_its_thread_and_the_others_go_on_with_a_new_one(owner: Owner) -> None:
    gate, got, read = threading.Event(), [], []  # type: ignore[var-annotated]
    slow = owner.task(0, lambda value: gate.wait(SECONDS) if value == "wait" else got.append(value))
    quick = owner.task(1, got.append)
    ours, theirs = socket.socketpair()
    with ours, theirs, blocked(gate):
        owner.loop.selector.register(ours, selectors.EVENT_READ, lambda: read.append(ours.recv(10)))
        owner.start()
        give(quick, "before")
        until(lambda: got == ["before"])
        give(slow, "wait", "afterwards", "last")
        until(lambda: slow.is_alone)
        give(quick, "beside")
        theirs.send(b"!")
        until(lambda: got == ["before", "beside"] and read == [b"!"])
        gate.set()
        until(lambda: got[2:] == ["afterwards", "last"])
        owner.loop.selector.unregister(ours)
    first, second = slow.worker, quick.worker
    assert len(set(first.threads)) == 1  # type: ignore[attr-defined]
    assert second.threads[0] == first.threads[0] != second.threads[1]  # type: ignore[attr-defined]


def test_a_blocked_step_is_seen_also_after_a_long_rest(owner: Owner) -> None:
    gate, got = threading.Event(), []  # type: ignore[var-annotated]
    slow, quick = owner.task(0, lambda _: gate.wait(SECONDS)), owner.task(1, got.append)
    with blocked(gate):
        owner.start()
        until(lambda: owner.loop._rests)
        give(slow, "wait")
        until(lambda: slow.is_alone)
        give(quick, 1)
        until(lambda: got == [1])


def test_a_task_that_waits_in_many_short_steps_leaves_and_returns_when_it_is_quick_again(owner: Owner) -> None:
    pause = [0.005]
    slow = owner.task(0, lambda _: time.sleep(pause[0]))
    owner.start()
    slow.begin(EpochOrder(1), TaskOrder(), 7, None, None)
    end = time.monotonic() + SECONDS
    while not slow.is_alone:
        assert time.monotonic() < end
        give(slow, *range(10))
        time.sleep(0.01)
    pause[0] = 0.0
    while slow.is_alone:
        assert time.monotonic() < end
        give(slow, 1)
        slow.end()
        time.sleep(0.01)
    count = len(slow.worker.threads)  # type: ignore[attr-defined]
    give(slow, 1)
    until(lambda: len(slow.worker.threads) > count)  # type: ignore[attr-defined]
    assert slow.worker.names == {"7"}, "context variables are those of the task, on all threads"  # type: ignore[attr-defined]


def test_an_error_beside_the_work_of_a_task_is_reported_and_stops_only_this_task(owner: Owner) -> None:
    got: list[Any] = []
    bad, good = owner.task(0, lambda value: 1 // value), owner.task(1, got.append)
    owner.start()
    give(bad, 0)
    until(lambda: bool(owner.broken))
    give(bad, 1)
    give(good, 1)
    until(lambda: got == [1])
    assert isinstance(owner.broken[0], ZeroDivisionError) and len(owner.broken) == 1
    assert len(bad.worker.threads) == 1  # type: ignore[attr-defined]


def test_the_loop_ends_while_a_task_is_blocked_and_the_task_closes_behind_its_step(owner: Owner) -> None:
    gate = threading.Event()
    slow, quick = owner.task(0, lambda _: gate.wait(SECONDS)), owner.task(1, lambda _: None)
    with blocked(gate):
        owner.start()
        give(slow, "wait", "never")
        until(lambda: slow.is_alone)
        owner.end()
        assert isinstance(owner.error, EndError)
        assert not slow.worker.is_closed  # type: ignore[attr-defined]
    slow.join()
    assert slow.worker.is_closed and len(slow.worker.threads) == 1  # type: ignore[attr-defined]
    quick.close()


def test_positions_tell_of_all_tasks_and_where_the_blocked_one_is(owner: Owner) -> None:
    gate = threading.Event()
    slow, _ = owner.task(4, lambda _: gate.wait(SECONDS)), owner.task(5, lambda _: None)
    with blocked(gate):
        owner.start()
        give(slow, "wait")
        until(lambda: slow.is_alone)
        told = {each.task: each.stack for each in tell(Positions(stacks=True)).positions}
        assert "wait" in told[0, 4] and told[0, 5] == ""


def test_many_tasks_need_no_threads_of_their_own(owner: Owner) -> None:
    got: list[int] = []
    before = threading.active_count()
    for number in range(300):
        owner.task(number, got.append)
    owner.start()
    for number, task in enumerate(owner.tasks):
        give(task, number)
    until(lambda: sorted(got) == list(range(300)))
    assert threading.active_count() <= before + 10


def test_pace() -> None:
    pace, now = Pace(), flow_loop.SPAN_NANOSECONDS
    for _ in range(100):
        pace.took(now, now + 2 * MILLISECOND, 0)  # it had a processor, or waited for one
        now += 3 * MILLISECOND
    assert not pace.is_slow and pace.is_measured
    for _ in range(30):
        pace.took(now, now + 2 * MILLISECOND, 2 * MILLISECOND)
        now += 3 * MILLISECOND
    assert pace.is_slow
    pace.start()
    for _ in range(60):
        pace.took(now, now + 2 * MILLISECOND, 2 * MILLISECOND)
        now += 100 * MILLISECOND  # 2 % of the time
    assert not pace.is_slow
    pace.took(now, now + MILLISECOND // 2, 0)
    now += 2 * flow_loop.SPAN_NANOSECONDS
    pace.took(now, now + MILLISECOND // 2, 0)
    assert not pace.is_measured
