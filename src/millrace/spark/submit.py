"""From a job description to a running job and its client."""

from __future__ import annotations

import pickle
import queue
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.util import InheritableThread

from millrace.common.completable_future import CompletableFuture
from millrace.common.job_client import JobClient
from millrace.common.job_execution_result import JobExecutionResult
from millrace.common.job_id import JobID
from millrace.common.job_status import JobStatus
from millrace.datastream.dependencies import Dependencies
from millrace.datastream.not_yet import not_yet
from millrace.graph.serialize import serialize
from millrace.runtime.coordinator import Coordinator
from millrace.runtime.job import JobGraph
from millrace.spark.provision import ship
from millrace.spark.requirements import install
from millrace.spark.runner import JobCancelledError, JobRunner
from millrace.spark.session import SessionWishes, workplace
from millrace.spark.stage import now_millis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millrace.metrics.report import MetricsReport

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class JobSettings:
    """What the environment says about a job beyond its graph."""

    spark: SparkSession | None
    configuration: Mapping[str, str]
    parallelism: int
    bounded: bool
    batch: bool
    epoch_interval_ms: int
    """least time between the beginnings of two epochs of an unbounded job"""
    dependencies: Dependencies = field(default_factory=Dependencies)
    jars: tuple[str, ...] = ()
    paths: tuple[str, ...] = field(default_factory=lambda: tuple(path for path in sys.path if path))


def submit(job: JobGraph, settings: JobSettings) -> SparkJobClient:
    """Start a job. What can be seen to be wrong before it runs is raised here, before Spark starts."""
    payload = serialize(job.for_tasks())
    runner = JobRunner(job, payload, settings, Coordinator(job, now_millis))
    runner.coordinator.find_splits()
    needs = settings.dependencies
    packages = install(needs.requirements, needs.executable) if needs.requirements is not None else None
    place = workplace(settings.spark, SessionWishes(settings.parallelism, settings.configuration, settings.jars))
    runner.begin(place, ship(place, needs, packages, settings.paths))
    client = SparkJobClient(runner)
    client.start()
    return client


class SparkJobClient(JobClient):
    """A job that runs on a thread of this process, with its tasks on Spark."""

    def __init__(self, runner: JobRunner) -> None:
        self._runner = runner
        self._started = time.monotonic()
        self._result: Future[JobExecutionResult] = Future()
        self._thread = InheritableThread(target=self._run, name=f"millrace-{runner.job.job_id[:8]}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        runner = self._runner
        try:
            runner.run()
        except BaseException as error:
            self._result.set_exception(error)
        else:
            elapsed = int((time.monotonic() - self._started) * 1000)
            outcome = JobExecutionResult(self._job_id(), elapsed, runner.accumulators(), self.get_metrics())
            self._result.set_result(outcome)

    def _job_id(self) -> JobID:
        return JobID(self._runner.job.job_id)

    def get_job_id(self) -> JobID:
        return self._job_id()

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self._runner.status)

    def cancel(self) -> CompletableFuture[Any]:
        """Stop at once; what the running epoch did does not count."""
        self._runner.cancel()
        return CompletableFuture(self._ended())

    def stop(self) -> CompletableFuture[Any]:
        """Let the sources end with the next epoch: all event-time timers fire (our addition)."""
        self._runner.coordinator.stop()
        return CompletableFuture(self._ended())

    def _ended(self) -> Future[None]:
        ended: Future[None] = Future()
        self._result.add_done_callback(lambda _: ended.set_result(None))
        return ended

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        raise not_yet("pyflink.common.JobClient.stop_with_savepoint", "stop()")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        raise not_yet("pyflink.common.JobClient.trigger_savepoint", "none")

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.of(self._runner.accumulators())

    def get_metrics(self) -> MetricsReport:
        return self._runner.coordinator.metrics.report()

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    def wait(self) -> JobExecutionResult:
        """The result. Ctrl-C cancels the job, waits for its end and goes on as KeyboardInterrupt."""
        try:
            while self._thread.is_alive():
                self._thread.join(POLL_SECONDS)
        except KeyboardInterrupt:
            self._runner.cancel()
            self._thread.join()
            raise
        return self._result.result()

    def collected(self) -> Iterator[Any]:
        """The values of the job's collect sink as epochs complete; raises the job's error at its end."""
        parts = self._runner.collected
        while True:
            try:
                part = parts.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if self._result.done() and parts.empty():
                    break
                continue
            yield from pickle.loads(part)
        self._result.result()

    def discard(self) -> None:
        """Nobody wants the rest: cancel if the job still runs, and wait for its end."""
        if not self._result.done():
            self._runner.cancel()
            self._thread.join()
        error = self._result.exception()
        if error is not None and not isinstance(error, JobCancelledError):
            raise error
