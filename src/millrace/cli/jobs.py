"""The jobs that a program has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from millrace.common.jobs.job_status import JobStatus
from millrace.datastream.settings.defaults import Submission

if TYPE_CHECKING:
    from millrace.spark.jobs.submit import SparkJobClient


class Jobs:
    """Knows the jobs of a program, so that none outlives it and none is cut off by its end."""

    def __init__(self, start: Callable[[Submission], SparkJobClient]) -> None:
        self._start = start
        self._detached: list[SparkJobClient] = []
        self._collecting: list[SparkJobClient] = []

    def submit(self, submission: Submission) -> SparkJobClient:
        client = self._start(submission)
        (self._collecting if submission.collecting else self._detached).append(client)
        return client

    def wait(self) -> None:
        """Let jobs that the program didn't wait for come to their end. Raises what a job raises that fails now."""
        # A job whose results nobody reads any more would wait for its reader for ever.
        _cancel(self._collecting)
        for client in self._detached:
            if not _ended(client):
                client.wait()

    def running(self) -> list[SparkJobClient]:
        """The jobs that have not ended."""
        return [client for client in (*self._detached, *self._collecting) if not _ended(client)]

    def lost(self) -> BaseException | None:
        """The error of a job that has lost its driver: whatever else the program has raised came of that."""
        from millrace.spark.errors import DriverLostError

        for client in (*self._detached, *self._collecting):
            if client.get_job_status().result() is JobStatus.FAILED:
                error = client.get_job_execution_result().future().exception()  # it waits for the very end
                if isinstance(error, DriverLostError):
                    return error
        return None

    def cancel(self) -> None:
        """Stop all jobs that still run, and wait for their end."""
        _cancel([*self._detached, *self._collecting])


def _ended(client: SparkJobClient) -> bool:
    return client.get_job_status().result().is_globally_terminal_state()


def _cancel(clients: list[SparkJobClient]) -> None:
    running = [client for client in clients if not _ended(client)]
    stopping = [client.cancel() for client in running]
    for stopped in stopping:
        stopped.result()
