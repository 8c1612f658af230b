"""Tasks that stay: epochs over connections, whatever dies, hangs or knocks at the driver's door.

There is no Spark: threads are its tasks."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from tests.owners.driving import COUNT, KEYS, Executor, OwnedJob, check, eventually, lives

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.bases.epoch_protocol import EpochPlan
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs.connections import ConnectionServer, EpochExchange, described
from millrace.spark.jobs.tasks import ANSWER_SECONDS, Deadline, EpochTimeoutError
from millrace.spark.workers.encryption import Certificate, cut
from millrace.spark.workers.frames import Address, TaskId
from millrace.spark.workers.inspection import look
from millrace.spark.workers.pipe import DriverUnreachedError, OwnerLostError
from millrace.spark.workers.shipping import digest
from millrace.spark.workers.stage import NotProvedError, Owners, ResidentTask, connect

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    """One for all tests: its keeper imports for as long as all of them run."""
    with pytest.MonkeyPatch.context() as patch:
        found = Executor(patch)
        yield found
        found.end()


class Counting(KeyedProcessFunction):
    """(key, how often it came so far, process); does something odd once, at one of the values."""

    def __init__(self, folder: Path, odd: str = "") -> None:
        self.folder = folder
        self.odd = odd

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, ...]]:
        if value == 100 and self.odd and not (self.folder / "odd").exists():
            (self.folder / "odd").touch()
            if self.odd == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.odd == "fails":
                raise ValueError("odd")
            while not (self.folder / "go").exists():
                threading.Event().wait(0.02)
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), os.getpid()


class StayingJob(OwnedJob):
    """Its tasks stay from the first epoch until ``leave``."""

    rounds: EpochExchange | None = None
    tls: Certificate | None = None

    def epoch(self) -> list[Any]:
        plan = self.coordinator.plan()
        result = self.coordinator.complete(plan, self.acks(plan))
        return [value for part in result.collected for value in cloudpickle.loads(part)]

    def acks(self, plan: EpochPlan) -> list[Any]:
        self._run += 1
        if self.rounds is None:
            self.stay(plan.epoch)
        assert self.rounds is not None
        return self.rounds.run(self._run, self._orders.publish(plan))

    def stay(self, epoch: int) -> None:
        tasks = [(stage, number) for stage, width in enumerate(self.job.partitions) for number in range(width)]
        reception = ConnectionServer(tasks, HOST, HOST, tls=self.tls)
        name, owners = digest(self.payload), Owners(self._owners, 600.0, self._cancel_seconds)
        posts = ResidentTask(self.job.job_id, self.job.partitions, epoch, reception.address, self.payload, name, owners)
        self.threads = [
            threading.Thread(target=_hold, args=(posts, number)) for number in range(max(self.job.partitions))
        ]
        for thread in self.threads:
            thread.start()
        links = reception.wait()
        assert links is not None
        self.links = list(links.values())
        self.rounds = EpochExchange(self.job, links)

    def break_off(self) -> None:
        for link in self.links:
            with contextlib.suppress(OSError):  # nobody may be at the other end
                cut(link)

    def leave(self) -> None:
        self.rounds = None
        self.break_off()
        for link in self.links:
            link.close()

    def left(self) -> bool:
        """Whether the tasks of Spark have ended."""
        return not any(thread.is_alive() for thread in self.threads)

    def run_to_end(self, found: list[Any]) -> list[Any]:
        """What it has found before, and what all further epochs collect."""
        while not self.coordinator.finished:
            found += self.epoch()
        return found


def _hold(posts: ResidentTask, number: int) -> None:
    try:
        posts.hold(number, "/")
    except OwnerLostError:
        return  # the driver has noticed


def counting(folder: Path, odd: str = "", parallelism: int = 2, **options: Any) -> StayingJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    numbers = env.from_sequence(0, COUNT - 1).set_parallelism(1)
    counts = numbers.key_by(lambda value: value % KEYS).process(Counting(folder, odd))
    return StayingJob(counts, folder / "state", **options)


def test_epochs_count_on_the_same_state_until_the_driver_leaves(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path)
    found = job.run_to_end([])
    check(found)
    processes = {process for *_, process in found}
    assert len(processes) == 2, "each has a core of its own"
    assert job.rounds is not None
    assert job.rounds.intact()
    job.leave()
    eventually(job.left)
    assert all(map(lives, processes)), "tasks stay in their owners between two residencies"
    job.forget()
    assert not any(map(lives, processes))


def test_packets_skip_the_stages_that_they_are_not_for(executor: Executor, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_sequence(0, 29).set_parallelism(2)
    far = numbers.key_by(lambda value: value % 5).map(lambda value: value + 100).key_by(lambda value: value % 7)
    job = StayingJob(far.map(lambda value: value + 1000).union(numbers.rebalance().map(lambda value: value)), tmp_path)
    assert len(job.job.partitions) > 2
    assert sorted(job.run_to_end([])) == [*range(30), *range(1100, 1130)]
    job.leave()
    job.forget()


def test_a_task_whose_process_dies_is_told_and_the_job_goes_on_from_its_files(
    executor: Executor, tmp_path: Path
) -> None:
    job = counting(tmp_path, "dies")
    found: list[Any] = []
    with pytest.raises(OwnerLostError, match=r"the process that task \d of stage 1 lives in has ended"):
        job.run_to_end(found)
    job.leave()
    eventually(job.left)
    job.coordinator.restart()
    check(job.run_to_end(found))
    job.leave()
    job.forget()


def test_a_process_that_dies_between_epochs_is_noticed_before_the_next(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path)
    found = job.epoch()
    rounds = job.rounds
    assert rounds is not None
    os.kill(found[0][-1], signal.SIGKILL)
    eventually(lambda: not rounds.intact())
    job.leave()
    eventually(job.left)
    check(job.run_to_end(found))
    assert job.coordinator.attempt == 0
    job.leave()
    job.forget()


def test_a_function_that_fails_is_an_acknowledgement_and_the_tasks_stay(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path, "fails")
    found: list[Any] = []
    with pytest.raises(JobFailedError, match="odd"):
        job.run_to_end(found)
    assert not job.left()
    job.coordinator.restart()
    check(job.run_to_end(found))
    job.leave()
    job.forget()


def test_an_epoch_that_hangs_is_broken_off_and_its_task_goes_on_elsewhere(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path, "hangs", owners=1, cancel_seconds=0.3)
    found: list[Any] = []
    while len(found) < 100:
        found += job.epoch()
    (hung,) = {process for *_, process in found}
    rounds = job.rounds
    assert rounds is not None
    deadline = Deadline(
        7,
        1_000,
        job.break_off,
        lambda: described(rounds.pending),
        lambda request: look(job.job.job_id, request, ANSWER_SECONDS),
        lambda host, pid: True,
        lambda line: None,
    )
    text = r"^epoch 7 stands still: .*, task \d of stage 1, has come no further for 1000 ms"
    with pytest.raises(EpochTimeoutError, match=text), deadline:
        job.epoch()
    job.leave()
    job.coordinator.restart()
    check(job.run_to_end(found))
    eventually(lambda: not lives(hung))
    job.leave()
    job.forget()


def test_a_run_that_cannot_be_made_says_why(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path)
    job.epoch()
    assert job.rounds is not None
    with pytest.raises(OwnerLostError, match=r"^task 0 of stage 0 could not be run: .*Error"):
        job.rounds.run(99, "no order")
    job.leave()
    job.forget()


def test_a_task_that_does_not_reach_its_driver_is_refused(executor: Executor, tmp_path: Path) -> None:
    job = counting(tmp_path)
    name, owners = digest(job.payload), Owners(2, 600.0, 1.0)
    door = reception((0, 0))
    wrong = Address(HOST, door.address.port, b"x" * 32)
    for text in ("is not the driver of this job", "refused"):
        posts = ResidentTask(job.job.job_id, job.job.partitions, 1, wrong, job.payload, name, owners)
        with pytest.raises(DriverUnreachedError, match=rf"^{HOST}:{wrong.port}: .*{text}"):
            posts.hold(0, "/")
        door.close()
    job.forget()


# -- who is let in --------------------------------------------------------------------------------------------------


def reception(*tasks: TaskId) -> ConnectionServer:
    return ConnectionServer(tasks, HOST, HOST)


def test_who_does_not_know_the_secret_is_sent_away() -> None:
    door = reception((0, 0))
    wrong = Address(HOST, door.address.port, b"x" * 32)
    with pytest.raises(NotProvedError, match="is not the driver of this job"):
        connect(wrong, (0, 0))  # which does not believe that this is its driver
    with socket.create_connection((HOST, door.address.port), 60) as stranger:
        stranger.sendall(b"a" * 24)
        assert len(stranger.recv(48, socket.MSG_WAITALL)) == 48
        stranger.sendall(b"b" * 32)
        assert stranger.recv(1) == b""
    assert door.missing == [(0, 0)]
    with connect(door.address, (0, 0)) as link:
        links = door.wait()
        assert links is not None
        assert list(links) == [(0, 0)]
        links[0, 0].sendall(b"hello")
        assert link.recv(5) == b"hello"
        links[0, 0].close()


def test_one_that_says_nothing_lets_nobody_wait() -> None:
    door = reception((0, 0))
    with socket.create_connection((HOST, door.address.port), 60), connect(door.address, (0, 0)):
        links = door.wait()
        assert links is not None
        links[0, 0].close()


def test_a_task_that_is_there_or_unknown_is_not_let_in_again() -> None:
    door = reception((0, 0), (0, 1))
    with connect(door.address, (0, 0)):
        eventually(lambda: door.missing == [(0, 1)])
        for task in ((0, 0), (5, 0)):
            with connect(door.address, task) as second:
                assert second.recv(1) == b""
        assert door.missing == [(0, 1)]
    door.close()
    assert door.wait() is None
    with pytest.raises(OSError):
        connect(door.address, (0, 1))


def test_who_waits_is_woken_when_the_door_is_closed() -> None:
    door = reception((0, 0))
    threading.Timer(0.05, door.close).start()
    assert door.wait() is None
