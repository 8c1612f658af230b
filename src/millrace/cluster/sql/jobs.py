"""The jobs that a client has started: those of its own process live as long as it does, those of a cluster longer."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from typing import TYPE_CHECKING, Any

from millrace.cluster.remote.elsewhere import ElsewhereError, JobLine
from millrace.common.jobs.job_status import JobStatus
from millrace.datastream.settings.defaults import Submission
from millrace.spark.jobs.listeners import JobStarted, PlainListener
from millrace.spark.sessions.active import spark_context
from millrace.table.sql.text.errors import SqlError, did_you_mean

if TYPE_CHECKING:
    from millrace.cluster.remote.handing_over import Cluster
    from millrace.spark.jobs.submit import SparkJobClient

MANY_JOBS = 20


class SqlJob:
    """One job. Name and beginning are known once it runs."""

    def __init__(self, client: Any, collecting: bool = False, name: str | None = None) -> None:
        self.client = client
        self.collecting = collecting
        """whether it is a query, whose errors are told where its rows are read"""
        self.name = name
        """of a job of a cluster, which lives without this process; None: it is one of this process"""
        self.told = collecting

    @property
    def id(self) -> str:
        return str(self.client.get_job_id())

    @property
    def status(self) -> JobStatus:
        status: JobStatus = self.client.get_job_status().result()
        return status

    @property
    def running(self) -> bool:
        return not self.status.is_globally_terminal_state()

    @property
    def is_here(self) -> bool:
        """Whether it ends with this process."""
        return self.name is None


class SqlJobs:
    """Submits jobs, and finds them again.

    :param say: told before Spark is started, which takes some seconds.
    :param cluster: the one that takes the jobs of INSERTs at the moment; None: this process runs them.
    """

    def __init__(self, say: Callable[[str], None], cluster: Callable[[], Cluster | None] = lambda: None) -> None:
        self._say = say
        self._cluster = cluster
        self._jobs: list[SqlJob] = []
        self._started: dict[str, tuple[JobStarted, datetime.datetime]] = {}

    def announce(self) -> None:
        """Say that Spark will be started, if it has to be."""
        if spark_context() is None:
            self._say("Starting Spark ...")

    def submit(self, submission: Submission) -> SparkJobClient:
        """A ``Submitter``."""
        cluster = self._cluster()
        if cluster is not None and submission.portable is not None:
            from millrace.cluster.remote.handing_over import hand_over

            portable = submission.portable()
            client: Any = hand_over(portable, cluster)
            self._jobs.append(SqlJob(client, name=portable.name))
            return client  # type: ignore[no-any-return]
        self.announce()
        client = submission.start()
        self._jobs.append(SqlJob(client, submission.collecting))
        return client  # type: ignore[no-any-return]

    def listener(self, announce: Callable[[str], None] = lambda _: None) -> _Listener:
        """Of one job of this process.

        :param announce: told its id, on the thread that drives it, before it does anything.
        """
        return _Listener(self._started, announce)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Id, name, status and beginning of each job of this client, the last one first, and of its cluster.

        :raises ElsewhereError: the cluster does not answer.
        """
        found = []
        for job in reversed([job for job in self._jobs if job.is_here]):
            name, began = "", ""
            if job.id in self._started:
                started, moment = self._started[job.id]
                name, began = started.name, _shown(moment)
            found.append((job.id, name, job.status.name, began))
        cluster = self._cluster()
        if cluster is not None:
            for line in sorted(_lines(cluster), key=lambda line: -line.started):
                moment = datetime.datetime.fromtimestamp(line.started / 1000)
                found.append((line.id, line.name, line.state, _shown(moment)))
        return found

    def name(self, job: SqlJob) -> str:
        if job.name is not None:
            return job.name
        return self._started[job.id][0].name if job.id in self._started else job.id

    @property
    def log_file(self) -> str | None:
        """Where Spark logs; None if no job has run."""
        return next((started.log_file for started, _ in self._started.values()), None)

    def find(self, id: str) -> SqlJob:
        """A job of this client, or any of its cluster.

        :raises SqlError: there is no such job.
        """
        for job in self._jobs:
            if job.id == id:
                return job
        cluster = self._cluster()
        known = [job.id for job in self._jobs]
        if cluster is not None:
            from millrace.cluster.remote.rest_client import RestJobClient

            lines = _lines(cluster)
            for line in lines:
                if line.id == id:
                    return SqlJob(RestJobClient(id, cluster.url, cluster.token), name=line.name)
            known += [line.id for line in lines][:MANY_JOBS]
        whose = "this client has started" if cluster is None else f"the cluster at {cluster.url} knows"
        raise SqlError(f"{whose} no job '{id}'{did_you_mean(id, known)}: SHOW JOBS lists those that it has")

    def running(self) -> list[SqlJob]:
        """INSERTs that have not ended and end with this process."""
        return [job for job in self._here() if not job.collecting and job.running]

    def failures(self) -> Iterator[tuple[SqlJob, BaseException]]:
        """INSERTs that have failed, each told once."""
        for job in self._jobs:
            if job.told:
                continue
            with contextlib.suppress(ElsewhereError):  # what cannot be asked now may be the next time
                if not job.running:
                    job.told = True
                    error = _failure(job)
                    if error is not None:
                        yield job, error

    def wait(self) -> None:
        """Let the INSERTs of this process come to their end, or one of them fail."""
        wait(
            [job.client.get_job_execution_result().future() for job in self._here() if not job.collecting],
            None,
            FIRST_EXCEPTION,
        )

    def cancel(self) -> None:
        """Cancel what still runs in this process, and wait for its end."""
        stopping = [job.client.cancel() for job in self._here() if job.running]
        for stopped in stopping:
            stopped.result()

    def _here(self) -> list[SqlJob]:
        return [job for job in self._jobs if job.is_here]


def _lines(cluster: Cluster) -> list[JobLine]:
    from millrace.cluster.remote.rest_jobs import RestJobs

    return RestJobs(cluster.url, cluster.token).jobs()


def _failure(job: SqlJob) -> BaseException | None:
    """Why a job has failed that is over; None: it has not, or was cancelled."""
    from millrace.spark.jobs.client import JobCancelledError

    if not job.is_here and job.status is not JobStatus.FAILED:
        return None
    error: BaseException | None = job.client.get_job_execution_result().future().exception()
    return None if isinstance(error, JobCancelledError) else error


def _shown(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"


class _Listener(PlainListener):
    def __init__(
        self, started: dict[str, tuple[JobStarted, datetime.datetime]], announce: Callable[[str], None]
    ) -> None:
        self._started = started
        self._announce = announce

    def started(self, job: JobStarted) -> None:
        self._announce(job.job_id)
        self._started[job.job_id] = job, datetime.datetime.now()
