"""A job of this process, steered through its client: states and times, without what goes on inside."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import FrameDocument, ThreadDocument
from millrace.common.jobs.job_status import JobStatus
from millrace.spark.jobs.client import LocalJobClient
from millrace.spark.tables.batch_job import BatchJobClient


def _now() -> int:
    return time.time_ns() // 1_000_000


class ClientControl:
    """``JobControl`` over the client that a submission gave."""

    def __init__(self, client: LocalJobClient, name: str, batch: bool) -> None:
        self._client = client
        self._name = name
        self._batch = batch
        self._began = _now()
        self._times: dict[str, int] = {status.name: 0 for status in JobStatus}
        self._times["CREATED"] = self._times["RUNNING"] = self._began
        self._lock = threading.Lock()
        self._seen = JobStatus.RUNNING

    def document(self) -> JobDocument:
        status: JobStatus = self._client.get_job_status().result()
        with self._lock:
            if status is not self._seen:
                self._seen, self._times[status.name] = status, _now()
            times = dict(self._times)
        over = status.is_globally_terminal_state()
        return JobDocument(
            str(self._client.get_job_id()),
            self._name,
            status.name,
            self._batch,
            1,
            128,
            self._began,
            times[status.name] if over else -1,
            _now(),
            times,
            exceptions=self._failure() if status is JobStatus.FAILED else (),
            stoppable=not self._batch,
        )

    def _failure(self) -> tuple[ExceptionDocument, ...]:
        future = self._client.get_job_execution_result().future()
        error = future.exception() if future.done() else None
        if error is None:
            return ()
        return (ExceptionDocument(type(error).__name__, str(error), str(error), self._times["FAILED"]),)

    def cancel(self) -> None:
        status: JobStatus = self._client.get_job_status().result()
        if status in (JobStatus.CANCELED, JobStatus.CANCELLING):
            return
        self._still_runs(status)
        self._client.cancel()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        self._still_runs()
        return self._client.trigger_savepoint(directory).future()

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        self._still_runs()
        return self._client.stop_with_savepoint(drain, directory).future()

    def checkpoint(self, full: bool) -> Future[int]:
        raise NotImplementedError("this job takes no checkpoints on request")

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        self._still_runs()
        client: Any = self._client
        return client.query_state(operator, state, key).future()  # type: ignore[no-any-return]

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        raise NotImplementedError("this job shows no threads")

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        raise NotImplementedError("this job shows no flame graph")

    def _still_runs(self, status: JobStatus | None = None) -> None:
        now: JobStatus = status or self._client.get_job_status().result()
        if now.is_globally_terminal_state():
            raise JobOverError(f"job {self._client.get_job_id()} is {now.name}")


def control_of(client: LocalJobClient) -> ClientControl:
    """What steers a job of this process."""
    anything: Any = client
    if isinstance(client, BatchJobClient):
        return ClientControl(client, anything._context.job_name, batch=True)
    return ClientControl(client, anything._runner.job.name, anything._runner._settings.batch)
