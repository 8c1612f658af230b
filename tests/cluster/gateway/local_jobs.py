"""Jobs of tables that run in the process of the test, without Spark."""

from __future__ import annotations

import pickle
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.relational.rows import Rows, concat
from millrace.runtime.clocks import now_millis
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.jobs import submit as submitting
from millrace.spark.jobs.client import JobCancelledError, LocalJobClient
from millrace.spark.jobs.listeners import JobStarted, get_listener
from millrace.spark.tables.engine import BatchEngine
from millrace.table.planner.engine import StreamingEngine
from millrace.testing.local import LocalEngine

PAUSE_SECONDS = 0.05
"""between two epochs of a job without an end"""


class LocalJob(LocalJobClient):
    """A streaming job on ``LocalEngine``."""

    def __init__(self, job: JobGraph, bounded: bool) -> None:
        super().__init__(job.job_id)
        self._job, self._bounded = job, bounded
        self._state = JobStatus.RUNNING
        self._stopped = threading.Event()
        self._parts: queue.Queue[Rows] = queue.Queue()
        self._listener = get_listener()

    def _drive(self) -> None:
        self._listener.started(JobStarted(self._job.job_id, self._job.name, None, None))
        try:
            for epoch in LocalEngine(self._job, now_millis).epochs():
                if epoch.collected:
                    self._parts.put(concat([rows for part in epoch.collected for rows in pickle.loads(part)]))
                if self._stopped.is_set():
                    break
                if not self._bounded:
                    time.sleep(PAUSE_SECONDS)
        except BaseException:
            self._state = JobStatus.FAILED
            raise
        self._state = JobStatus.CANCELED if self._stopped.is_set() else JobStatus.FINISHED
        if self._stopped.is_set():
            raise JobCancelledError("it was cancelled")

    def _status(self) -> JobStatus:
        return self._state

    def _stop(self) -> None:
        self._stopped.set()

    def collected(self) -> Iterator[Any]:
        """Of each epoch at once, so that what is on a page depends on the rows alone."""
        while not (self._result.done() and self._parts.empty()):
            try:
                yield self._parts.get(timeout=PAUSE_SECONDS)
            except queue.Empty:
                continue
        self._result.result()

    def get_accumulators(self) -> Any:
        return CompletableFuture.of({})

    def get_metrics(self) -> Any:
        return None

    def stop_with_savepoint(self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None) -> Any:
        raise NotImplementedError

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> Any:
        raise NotImplementedError


def run_here(patch: pytest.MonkeyPatch) -> None:
    """Run all jobs of tables as ``LocalJob``; queries of batch mode are streams that end."""

    def submit(job: JobGraph, settings: submitting.JobSettings) -> LocalJob:
        client = LocalJob(job, settings.bounded)
        client.start()
        return client

    patch.setattr(submitting, "submit", submit)
    patch.setattr(BatchEngine, "execute", StreamingEngine.execute)
    patch.setattr(BatchEngine, "explain", StreamingEngine.explain)
