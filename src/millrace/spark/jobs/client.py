"""The client of a job that a thread of this process drives."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from pyspark.util import InheritableThread

from millrace.common.jobs.completable_future import CompletableFuture
from millrace.common.jobs.job_client import JobClient
from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.common.jobs.job_id import JobID
from millrace.common.jobs.job_status import JobStatus
from millrace.spark.jobs import known
from millrace.spark.jobs.java_error import as_java_error

POLL_SECONDS = 0.1


class JobCancelledError(Exception):
    """The job was cancelled before its end."""


class LocalJobClient(JobClient):
    """The result is there when the thread has ended."""

    def __init__(self, job_id: str) -> None:
        self._id = JobID(job_id)
        self._started = time.monotonic()
        self._result: Future[JobExecutionResult] = Future()
        self.when_waited: Callable[[JobExecutionResult], None] = lambda _: None
        """told the result when somebody has waited for it"""
        self._thread = InheritableThread(target=self._run, name=f"millrace-{job_id[:8]}", daemon=True)

    def start(self) -> None:
        known.begun(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            try:
                self._drive()
            finally:
                known.ended(self)
        except BaseException as error:
            self._result.set_exception(as_java_error(error))
        else:
            elapsed = int((time.monotonic() - self._started) * 1000)
            accumulators = self.get_accumulators().result()
            self._result.set_result(JobExecutionResult(self._id, elapsed, accumulators, self.get_metrics()))

    @abstractmethod
    def _drive(self) -> None:
        """Run the job to its end, on the thread.

        :raises JobCancelledError: somebody has ended it.
        """

    @abstractmethod
    def _status(self) -> JobStatus: ...

    @abstractmethod
    def _stop(self) -> None:
        """End the job soon; what it has not committed does not count."""

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self._status())

    def cancel(self) -> CompletableFuture[Any]:
        """Stop at once; what the running epoch did does not count."""
        self._stop()
        return CompletableFuture(self._ended())

    def _ended(self) -> Future[None]:
        ended: Future[None] = Future()
        self._result.add_done_callback(lambda _: ended.set_result(None))
        return ended

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    def wait(self) -> JobExecutionResult:
        """The result. Ctrl-C cancels the job, waits for its end and goes on as KeyboardInterrupt."""
        with self.ended_by_ctrl_c():
            while self._thread.is_alive():
                self._thread.join(POLL_SECONDS)
        result = self._result.result()
        self.when_waited(result)
        return result

    @contextmanager
    def ended_by_ctrl_c(self) -> Iterator[None]:
        """While the user waits for the job, Ctrl-C, or an interrupted cell of a notebook, is the end of it."""
        try:
            yield
        except KeyboardInterrupt:
            self._stop()
            self._thread.join()
            raise

    def discard(self) -> None:
        """The rest is not wanted: cancel if the job still runs, and wait for its end."""
        if not self._result.done():
            self._stop()
            self._thread.join()
        error = self._result.exception()
        if error is not None and not isinstance(error, JobCancelledError):
            raise error
