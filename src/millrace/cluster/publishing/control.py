"""A job of this process, as it can be watched and steered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import FrameDocument, ThreadDocument
from millrace.cluster.publishing.batch import batch_document
from millrace.cluster.publishing.flames import Flames, worker_threads
from millrace.cluster.publishing.streaming import job_document
from millrace.common.jobs.completable_future import CompletableFuture
from millrace.common.jobs.job_status import JobStatus
from millrace.spark.jobs.client import LocalJobClient
from millrace.spark.jobs.submit import SparkJobClient
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.util.stacks import stacks

T = TypeVar("T")
"""What a future ends with."""

FRESH_SECONDS = 0.5
"""How long a document serves for all who ask; of a job with very many subtasks twice as long."""
MOST_SECONDS = 1.0


class LocalControl:
    """A ``JobControl`` over a job client of this process. All methods may be called from any thread."""

    def __init__(self, client: LocalJobClient) -> None:
        """:param client: a ``SparkJobClient`` or ``BatchJobClient``."""
        self.id = str(client.get_job_id())
        self._client: LocalJobClient | None = client
        self._flames = Flames()
        self._lock = threading.Lock()
        self._document: JobDocument | None = None
        self._serves_until = 0.0

    def document(self) -> JobDocument:
        """The job as it is now, half a second old at most."""
        with self._lock:
            client, document = self._client, self._document
            began = time.monotonic()
            if document is None or (client is not None and began > self._serves_until):
                assert client is not None, "a job that has ended has left its document"
                document = self._document = _describe(client)
                now = time.monotonic()
                self._serves_until = now + max(FRESH_SECONDS, min(10 * (now - began), MOST_SECONDS))
            return document

    def close(self) -> None:
        """The job is over: its document stays as it is now, the client is let go."""
        with self._lock:
            if self._client is not None:
                self._document = _describe(self._client)
                self._client = None

    def cancel(self) -> None:
        client = self._client
        status = JobStatus[self.document().state] if client is None else client.get_job_status().result()
        if status in (JobStatus.FINISHED, JobStatus.FAILED):
            raise self._over(status.name)
        if client is not None:
            client.cancel()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._ask(lambda client: client.trigger_savepoint(directory))

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        return self._ask(lambda client: client.stop_with_savepoint(drain, directory))

    def checkpoint(self, full: bool) -> Future[int]:
        return self._ask(lambda client: _streaming(client, "checkpoints").checkpoint(full))

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        return self._ask(lambda client: _streaming(client, "state to ask for").query_state(operator, state, key))

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        """Those of this process, or of the job's owners on an executor; none of a job that does not run."""
        if task_manager is None:
            return [ThreadDocument(stack.name, stack.text) for stack in stacks()]
        client = self._client
        return worker_threads(client.runner, task_manager) if isinstance(client, SparkJobClient) else []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """Takes two seconds; graphs of one vertex that are asked for one soon after the other have the same samples.

        :raises ValueError: there is no such mode.
        """
        client = self._client
        runner = client.runner if isinstance(client, SparkJobClient) else None
        return self._flames.graph(runner, vertex, subtask, mode)

    def _ask(self, ask: Callable[[LocalJobClient], CompletableFuture[T]]) -> Future[T]:
        """What a running job answers later; whatever speaks against it is in the future."""
        client = self._client
        future: Future[T] = Future()
        try:
            if client is None:
                raise self._over(self.document().state)
            return ask(client).future()
        except Exception as error:
            future.set_exception(error)
            return future

    def _over(self, state: str) -> JobOverError:
        return JobOverError(f"job {self.document().name!r} ({self.id}) is {state}")


def _describe(client: LocalJobClient) -> JobDocument:
    if isinstance(client, SparkJobClient):
        return job_document(client.runner)
    assert isinstance(client, BatchJobClient), "there are no other kinds of jobs"
    return batch_document(client)


def _streaming(client: LocalJobClient, what: str) -> SparkJobClient:
    if not isinstance(client, SparkJobClient):
        raise ValueError(f"job {client.get_job_id()} is a query in batch mode, which has no {what}")
    return client
