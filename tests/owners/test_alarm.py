"""Owners between epochs: timers fire by themselves, and end with their job."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.owners.driving import Executor, OwnedJob, epoch_after_a_kill, eventually, lives

from millrace.common import Types
from millrace.datastream import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    StateBackend,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.coordination.coordinator import JobFailedError

PACE = 20
"""ms"""


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


class Beating(KeyedProcessFunction):
    """Once begun it beats for ever: (key, number, process). The file ``beats`` has the last number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        if self.number.value() is None:
            self.number.update(0)
            self.set_next(ctx)

    def set_next(self, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + PACE)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        assert ctx.timer_service().current_processing_time() >= timestamp
        number = self.number.value() + 1
        self.number.update(number)
        self.set_next(ctx)
        (self.folder / "next").write_text(str(number))
        (self.folder / "next").rename(self.folder / "beats")
        yield ctx.get_current_key(), number, os.getpid()


def beats(folder: Path) -> int:
    return int((folder / "beats").read_text()) if (folder / "beats").exists() else 0


def job_of(function: KeyedProcessFunction, folder: Path, backend: StateBackend | None = None) -> OwnedJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_state_backend(backend or HashMapStateBackend())
    env.set_parallelism(1)
    stream = env.from_sequence(0, 1_000).key_by(lambda value: 0).process(function)
    return OwnedJob(stream, folder / "state", records=1)


def test_a_chain_of_timers_goes_on_without_epochs(executor: Executor, tmp_path: Path) -> None:
    job = job_of(Beating(tmp_path), tmp_path)
    found: list[Any] = job.epoch()
    for more in (5, 5):
        known = beats(tmp_path)
        eventually(lambda: beats(tmp_path) >= known + more)  # noqa: B023  waits inside the loop
        found += job.epoch()
        assert len(found) >= known + more
    assert [number for _, number, _ in found] == list(range(1, len(found) + 1))
    assert len({process for *_, process in found} - {os.getpid()}) == 1
    job.forget()


def test_state_on_disk_is_of_epochs_that_count_when_the_owner_is_killed(executor: Executor, tmp_path: Path) -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths(str(tmp_path / "local"))
    job = job_of(Beating(tmp_path), tmp_path, backend)

    def wait_for_more() -> None:
        known = beats(tmp_path)
        eventually(lambda: beats(tmp_path) >= known + 4)

    found: list[Any] = job.epoch()
    owners = []
    for _ in range(2):
        for _ in range(2):
            wait_for_more()
            found += job.epoch()
        owners.append(found[-1][2])
        assert len(list((tmp_path / "local").rglob("data.mdb"))) == 1
        wait_for_more()
        os.kill(owners[-1], signal.SIGKILL)
        eventually(lambda: not lives(owners[-1]))
        (tmp_path / "beats").unlink()
        found += epoch_after_a_kill(job)
    assert [number for _, number, _ in found] == list(range(1, len(found) + 1))
    assert len(set(owners)) == 2
    job.forget()
    job.job.state.discard(job.job.job_id)


def test_it_ends_with_the_job(executor: Executor, tmp_path: Path) -> None:
    job = job_of(Beating(tmp_path), tmp_path)
    job.epoch()
    eventually(lambda: beats(tmp_path) >= 2)
    (owner,) = {process for *_, process in job.epoch()}
    job.forget()
    assert not lives(owner)


class Failing(Beating):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        if not (self.folder / "failed").exists():
            (self.folder / "failed").touch()
            raise ValueError("no beat")
        yield from super().on_timer(timestamp, ctx)


def test_a_failure_between_epochs_fails_the_next_one(executor: Executor, tmp_path: Path) -> None:
    job = job_of(Failing(tmp_path), tmp_path)
    job.epoch()
    eventually((tmp_path / "failed").exists)
    with pytest.raises(JobFailedError, match="no beat"):
        job.epoch()
    job.coordinator.restart()
    assert [number for _, number, _ in job.epoch()][:1] == [1], "it goes on from what counts"
    eventually(lambda: beats(tmp_path) >= 3)
    job.forget()


class Hanging(Beating):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int, int]]:
        (self.folder / "owner").write_text(str(os.getpid()))
        (self.folder / "hangs").touch()
        time.sleep(600)
        yield from ()


def test_a_timer_that_hangs_does_not_keep_the_owner(executor: Executor, tmp_path: Path) -> None:
    job = job_of(Hanging(tmp_path), tmp_path)
    job.epoch()
    eventually((tmp_path / "hangs").exists)
    job.forget()
    eventually(lambda: not lives(int((tmp_path / "owner").read_text())))
