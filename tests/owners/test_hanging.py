"""A run that hangs in a user's function: its task goes on elsewhere, and its process is ended when its time is over."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.owners.driving import COUNT, KEYS, Executor, OwnedJob, check, eventually, lives, run_to_end

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.workers.pipe import OwnerLostError

HANGS_AT = 100


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


class Hanging(KeyedProcessFunction):
    """(key, how often it came so far, process); the first time that it sees one of the values it hangs in it, until
    there is a file ``go``."""

    def __init__(self, folder: Path, times: int = 1) -> None:
        self.folder = folder
        self.times = times

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, ...]]:
        hung = hanging(self.folder)
        if value == HANGS_AT and len(hung) < self.times:
            (self.folder / f"hangs-{os.getpid()}").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.02)
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), os.getpid()

    def close(self) -> None:
        (self.folder / f"closed-{self.subtask}-{os.getpid()}").touch()


def hanging(folder: Path) -> list[int]:
    """The processes that have hung."""
    return [int(name.removeprefix("hangs-")) for name in os.listdir(folder) if name.startswith("hangs-")]


def hanging_job(folder: Path, times: int = 1, **options: Any) -> OwnedJob:
    folder.mkdir(exist_ok=True)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_sequence(0, COUNT - 1).set_parallelism(1)
    counts = numbers.key_by(lambda value: value % KEYS).process(Hanging(folder, times))
    return OwnedJob(counts, folder / "state", **options)


def until_it_hangs(job: OwnedJob, folder: Path, times: int = 1) -> tuple[list[Any], threading.Thread]:
    """What was collected before, and the worker that waits for the run that hangs."""
    found: list[Any] = []
    while times == 1 and len(found) < HANGS_AT:
        found += job.epoch()
    worker = threading.Thread(target=_epoch_for_nobody, args=(job,))
    worker.start()
    eventually(lambda: len(hanging(folder)) == times)
    return found, worker


def _epoch_for_nobody(job: OwnedJob) -> None:
    with contextlib.suppress(OwnerLostError):
        job.epoch()


def gone(process: int) -> Callable[[], bool]:
    return lambda: not lives(process)


def test_the_process_of_a_run_that_hangs_is_ended(executor: Executor, tmp_path: Path) -> None:
    """The subtasks share an owner, so the other one moves too."""
    job = hanging_job(tmp_path, owners=1, cancel_seconds=0.3)
    found, worker = until_it_hangs(job, tmp_path)
    (hung,) = hanging(tmp_path)
    assert {process for *_, process in found} == {hung}
    job.coordinator.restart()
    found += job.epoch()
    eventually(gone(hung))
    worker.join(20)
    found += run_to_end(job)
    check(found)
    assert hung not in {process for *_, process in found[-KEYS:]}
    job.forget()


def test_until_then_the_task_goes_on_beside_it(executor: Executor, tmp_path: Path) -> None:
    job = hanging_job(tmp_path, owners=2)
    found, worker = until_it_hangs(job, tmp_path)
    (hung,) = hanging(tmp_path)
    job.coordinator.restart()
    found += run_to_end(job)
    check(found)
    assert lives(hung)
    (tmp_path / "go").touch()
    os.kill(hung, signal.SIGKILL)  # the worker that waits for it must not hear an answer: it would go on with its epoch
    worker.join(20)
    job.forget()


def test_a_process_that_answers_nothing_is_ended_too(executor: Executor, tmp_path: Path) -> None:
    """As one whose function does not let go of the interpreter."""
    job = hanging_job(tmp_path, owners=1, cancel_seconds=0.3)
    found, worker = until_it_hangs(job, tmp_path)
    (hung,) = hanging(tmp_path)
    os.kill(hung, signal.SIGSTOP)
    job.coordinator.restart()
    blocked = threading.Thread(target=_fails, args=(job,))  # another task of that process: nobody answers
    blocked.start()
    blocked.join(1)
    job.coordinator.restart()
    found += run_to_end(job)
    check(found)
    eventually(gone(hung))
    worker.join(20)
    blocked.join(20)
    job.forget()


def _fails(job: OwnedJob) -> None:
    with pytest.raises(OwnerLostError):
        job.task((0, 0), job.coordinator.plan(), [])


def test_a_task_that_hangs_in_every_attempt_does_not_fill_the_machine(executor: Executor, tmp_path: Path) -> None:
    job = hanging_job(tmp_path, times=5, owners=1)
    found: list[Any] = []
    workers = []
    for times in range(1, 6):
        more, worker = until_it_hangs(job, tmp_path, times)
        found += more
        workers.append(worker)
        job.coordinator.restart()
        eventually(lambda: sum(map(lives, hanging(tmp_path))) <= 2)
    found += run_to_end(job)
    check(found)
    job.forget()
    for worker in workers:
        worker.join(20)
    assert not any(map(lives, hanging(tmp_path)))


def test_the_end_of_a_job_waits_for_its_runs_and_closes_their_functions(executor: Executor, tmp_path: Path) -> None:
    job = hanging_job(tmp_path)
    _, worker = until_it_hangs(job, tmp_path)
    (hung,) = hanging(tmp_path)
    end = threading.Thread(target=job.forget)
    end.start()
    (tmp_path / "go").touch()
    end.join(20)
    worker.join(20)
    assert not lives(hung)
    closed = [name for name in os.listdir(tmp_path) if name.startswith("closed-")]
    assert len(closed) == 2, closed


def test_the_end_of_a_job_ends_what_hangs(executor: Executor, tmp_path: Path) -> None:
    job = hanging_job(tmp_path, cancel_seconds=0.3)
    _, worker = until_it_hangs(job, tmp_path)
    (hung,) = hanging(tmp_path)
    job.forget()
    assert not lives(hung)
    worker.join(20)


def test_a_job_that_ends_slowly_holds_up_no_other_one(executor: Executor, tmp_path: Path) -> None:
    slow = hanging_job(tmp_path / "slow")
    _, worker = until_it_hangs(slow, tmp_path / "slow")
    (hung,) = hanging(tmp_path / "slow")
    end = threading.Thread(target=slow.forget)
    end.start()
    quick = hanging_job(tmp_path / "quick", times=0)
    quick.epoch()
    assert lives(hung), "an epoch takes less time than the keeper's patience"
    quick.forget()
    end.join(20)
    worker.join(20)
    assert not lives(hung)
