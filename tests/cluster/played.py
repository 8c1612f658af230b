"""Jobs that ``JobRunner`` drives as on Spark, with a local engine in the place of Spark."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from millrace.checkpoint.directory import CheckpointPlan, JobHome
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_settings import JobSettings
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.checkpoints import CheckpointSettings
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.restart import FixedDelay, NoRestart
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.jobs.submit import SparkJobClient
from millrace.testing.local import LocalEngine

T = TypeVar("T")
WAIT_SECONDS = 60


class PlayedTasks:
    """Stands for ``Tasks``: an epoch runs here, as soon as the test lets it."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.gate = threading.Semaphore(0)
        self.open = False
        self._cancelled = False

    def ready(self, epoch: int) -> str | None:
        return None

    def run(self, plan: EpochPlan) -> list[TaskAck]:
        while not self.open and not self.gate.acquire(timeout=0.05):
            if self._cancelled:
                raise RuntimeError("cancelled")
        return self._engine.run_tasks(plan)

    def at_work(self) -> str | None:
        return "epoch 7 runs for 12 s"

    def cancel(self) -> None:
        self._cancelled = True

    def end(self) -> None:
        """There are no owners."""


class PlayedJob:
    """A job of an environment, in epochs of so many records per source."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        folder: Path,
        *,
        records: int | None = 10,
        checkpoints: bool = True,
        interval: int = 1_000_000,
        restarts: int = 0,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.job = replace(env.job_graph("played"), epoch_records=records)
        plan = CheckpointPlan(CheckpointSettings(interval), str(folder / "checkpoints")) if checkpoints else None
        home = JobHome(self.job.job_id, plan, None, str(folder))
        coordinator = Coordinator(self.job, now_millis, home.storage(), home.recorder(now_millis))
        self.engine = LocalEngine(self.job, now_millis)
        self.engine.coordinator, self.engine.storage = coordinator, home.storage()
        self.engine.snapshots = FolderSnapshots(1)
        job_settings = JobSettings(
            None,
            {},
            2,
            bounded=True,
            batch=False,
            epoch_interval_ms=1,
            restart=FixedDelay(restarts, 1) if restarts else NoRestart(),
            checkpoints=plan,
            savepoint_directory=str(folder / "savepoints"),
            **(settings or {}),
        )
        self.runner = JobRunner(self.job, b"", job_settings, coordinator, home)
        self.tasks = PlayedTasks(self.engine)
        context = SimpleNamespace(
            setJobGroup=lambda *_, **__: None,
            _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False)),
            uiWebUrl="http://spark",
        )
        for name, value in {
            "_tasks": self.tasks,
            "_context": context,
            "_place": SimpleNamespace(log_file=None),
            "_retries": 0,
        }.items():
            setattr(self.runner, name, value)
        coordinator.find_splits()
        self.client = SparkJobClient(self.runner)

    def start(self) -> None:
        self.client.start()

    def epochs(self, count: int) -> None:
        """Let so many epochs run, and wait until they are complete."""
        done = len(self.runner.history.epochs()) + count
        for _ in range(count):
            self.tasks.gate.release()
        wait_for(lambda: len(self.runner.history.epochs()) >= done)

    def answer(self, future: Future[T]) -> T:
        """Let epochs run until the future has ended. One may have been planned before the request."""
        while not future.done():
            self.epochs(1)
        return future.result()

    def to_end(self) -> BaseException | None:
        """Let it run to its end; its error."""
        self.tasks.open = True
        return self.client.get_job_execution_result().future().exception(WAIT_SECONDS)


def wait_for(condition: Any) -> None:
    """Wait until it is so."""
    tick = threading.Event()
    for _ in range(WAIT_SECONDS * 100):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it did not happen within a minute")


def result_of(future: Future[T]) -> T:
    return future.result(WAIT_SECONDS)
