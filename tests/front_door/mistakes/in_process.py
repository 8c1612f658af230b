"""Jobs are submitted as ever, and run by the local engine where Spark would begin."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.metrics.report import MetricsReport
from millrace.runtime.bases.epoch_protocol import parts_of
from millrace.runtime.clocks import now_millis
from millrace.spark.jobs import submit
from millrace.spark.jobs.client import LocalJobClient
from millrace.spark.jobs.runner import JobRunner
from millrace.testing.local import LocalEngine

EPOCHS = 1_000
"""A job that has not ended after so many never ends."""


class JobHere(LocalJobClient):
    """A job of the local engine."""

    def __init__(self, runner: JobRunner) -> None:
        super().__init__(str(runner.job.job_id))
        self._engine = LocalEngine(runner.job, now_millis)
        self._rows: list[Any] = []

    def _drive(self) -> None:
        for number, epoch in enumerate(self._engine.epochs()):
            for line in epoch.printed:
                print(line)
            self._rows += [row for part in parts_of(epoch.collected) for row in pickle.loads(part)]
            if number > EPOCHS:
                raise TimeoutError("the job does not end")

    def _status(self) -> JobStatus:
        return JobStatus.FINISHED if self._result.done() else JobStatus.RUNNING

    def _stop(self) -> None:
        """It ends by itself."""

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.of({})

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        raise NotImplementedError

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        raise NotImplementedError

    def get_metrics(self) -> MetricsReport:
        return self._engine.coordinator.report()

    def collected(self) -> Iterator[Any]:
        self.wait()
        yield from self._rows


def run_jobs_in_process(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(submit, "workplace", lambda *_: None)
    patched.setattr(submit, "ship", lambda *_: None)
    patched.setattr(JobRunner, "begin", lambda *_: None)
    patched.setattr(submit, "SparkJobClient", JobHere)
