"""The jobs that a client has started: they live as long as it does."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from typing import TYPE_CHECKING

from millrace.common.jobs.job_status import JobStatus
from millrace.datastream.settings.defaults import Submission
from millrace.spark.jobs.listeners import JobStarted, PlainListener
from millrace.spark.sessions.active import spark_context
from millrace.table.sql.text.errors import SqlError, did_you_mean

if TYPE_CHECKING:
    from millrace.spark.jobs.submit import SparkJobClient


class SqlJob:
    """One job. Name and beginning are known once it runs."""

    def __init__(self, client: SparkJobClient, collecting: bool) -> None:
        self.client = client
        self.collecting = collecting
        """whether it is a query, whose errors are told where its rows are read"""
        self.told = collecting

    @property
    def id(self) -> str:
        return str(self.client.get_job_id())

    @property
    def status(self) -> JobStatus:
        return self.client.get_job_status().result()

    @property
    def running(self) -> bool:
        return not self.status.is_globally_terminal_state()


class SqlJobs:
    """Submits jobs, and finds them again.

    :param say: told before Spark is started, which takes some seconds.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._jobs: list[SqlJob] = []
        self._started: dict[str, tuple[JobStarted, datetime.datetime]] = {}

    def announce(self) -> None:
        """Say that Spark will be started, if it has to be."""
        if spark_context() is None:
            self._say("Starting Spark ...")

    def submit(self, submission: Submission) -> SparkJobClient:
        """A ``Submitter``."""
        self.announce()
        client = submission.start()
        self._jobs.append(SqlJob(client, submission.collecting))
        return client

    def listener(self) -> _Listener:
        """Of one job."""
        return _Listener(self._started)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Id, name, status and beginning of each job, the last one first."""
        found = []
        for job in reversed(self._jobs):
            name, began = "", ""
            if job.id in self._started:
                started, moment = self._started[job.id]
                name, began = started.name, f"{moment:%Y-%m-%dT%H:%M:%S}"
            found.append((job.id, name, job.status.name, began))
        return found

    def name(self, job: SqlJob) -> str:
        return self._started[job.id][0].name if job.id in self._started else job.id

    @property
    def log_file(self) -> str | None:
        """Where Spark logs; None if no job has run."""
        return next((started.log_file for started, _ in self._started.values()), None)

    def find(self, id: str) -> SqlJob:
        """:raises SqlError: there is no such job."""
        for job in self._jobs:
            if job.id == id:
                return job
        meant = did_you_mean(id, [job.id for job in self._jobs])
        raise SqlError(f"this client has started no job '{id}'{meant}: SHOW JOBS lists those that it has")

    def running(self) -> list[SqlJob]:
        """INSERTs that have not ended."""
        return [job for job in self._jobs if not job.collecting and job.running]

    def failures(self) -> Iterator[tuple[SqlJob, BaseException]]:
        """INSERTs that have failed, each told once."""
        for job in self._jobs:
            if not job.told and not job.running:
                from millrace.spark.jobs.client import JobCancelledError

                job.told = True
                error = job.client.get_job_execution_result().future().exception()
                if error is not None and not isinstance(error, JobCancelledError):
                    yield job, error

    def wait(self) -> None:
        """Let the INSERTs come to their end, or one of them fail."""
        wait(
            [job.client.get_job_execution_result().future() for job in self._jobs if not job.collecting],
            None,
            FIRST_EXCEPTION,
        )

    def cancel(self) -> None:
        """Cancel what still runs, and wait for its end."""
        stopping = [job.client.cancel() for job in self._jobs if job.running]
        for stopped in stopping:
            stopped.result()


class _Listener(PlainListener):
    def __init__(self, started: dict[str, tuple[JobStarted, datetime.datetime]]) -> None:
        self._started = started

    def started(self, job: JobStarted) -> None:
        self._started[job.job_id] = job, datetime.datetime.now()
