"""The SQL session of one user: a table environment, its jobs, and statements about both (SET, SHOW JOBS, STOP JOB,
...).

The SQL client and the gateway use it. The environment is made without Spark. Jobs of this process end with it, jobs of
a cluster outlive it.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, wait
from typing import TYPE_CHECKING, Any

from millrace.cluster.addresses import named_in, same_address
from millrace.cluster.control import ElsewhereError, JobLine
from millrace.common.configuration import Configuration
from millrace.common.jobs import JobStatus
from millrace.configuration.registry import ConfigurationError, tell_about
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_settings import FILES, import_path
from millrace.datastream.settings import Submission
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.spark.jobs.listeners import JobStarted, PlainListener
from millrace.spark.sessions.settings import spark_context
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.sessions.session import MODE
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import statements as s
from millrace.table.sql.text import SqlError
from millrace.table.statement_runners.show import fits
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask_options

if TYPE_CHECKING:
    from millrace.cluster.client import Cluster
    from millrace.spark.jobs.submit import SparkJobClient


# The cluster that takes the jobs

TARGET = "execution.target"
LOCAL, REMOTE = "local", "remote"
_MASTERS = ("spark.master", "millrace.master")


def asked_for(settings: Mapping[str, str]) -> Cluster | None:
    """The cluster that the settings name; None if they name none.

    :raises NoClusterError: it is not there.
    """
    if settings.get(TARGET) != REMOTE:
        return None
    from millrace.cluster.client import cluster_named

    return cluster_named(settings)


def nearest(settings: Mapping[str, str]) -> Cluster | None:
    """The cluster that the settings name, else the one that runs; None if none runs, or if the settings ask for a
    Spark of the program's own.

    :raises NoClusterError: the one that they ask for is not there, or several run.
    """
    if settings.get(TARGET) == LOCAL:
        return None
    from millrace.cluster.client import NoClusterError, cluster_named, clusters

    if settings.get(TARGET) == REMOTE:
        return cluster_named(settings)
    if any(key in settings for key in _MASTERS):
        return None
    found = clusters()
    if len(found) > 1:
        shown = ", ".join(each.url for each in found)
        named = named_in(settings)
        meant = [each for each in found if named is not None and same_address(named, each.url)]
        if "rest.port" not in settings or not meant:
            raise NoClusterError(
                f"several clusters run ({shown}): give -m with the address of one, or {TARGET}={LOCAL} for none of them"
            )
        return meant[0]
    return found[0] if found else None


# The environment

_MODES = ("streaming", "batch")


class SqlSession:
    """A table environment with the options that the session began with (``-D``)."""

    def __init__(self, begin: Mapping[str, str]) -> None:
        self._begin = dict(begin)
        configuration = Configuration.from_dict(self._begin)
        settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self.environment = TableEnvironment(settings, StreamExecutionEnvironment(configuration))
        # What the session began with lies below what it sets: RESET leaves it in place.
        own = self.environment.get_config().get_configuration()
        for key in self._begin:
            own.remove_config(key)
        self._follow()

    def settings(self) -> dict[str, str]:
        """All options of the session: those that it began with, and those set since."""
        return self.environment.get_config().to_map()

    def own_settings(self) -> dict[str, str]:
        """The options that were set since the session began."""
        return self.environment.get_config().get_configuration().to_dict()

    def set(self, key: str, value: str) -> None:
        """:raises SqlError: the key cannot have this value; the old one stays."""
        try:
            tell_about({key: value})
        except ConfigurationError as error:
            raise SqlError(str(error)) from None
        own = self.environment.get_config().get_configuration()
        before = self.own_settings().get(key)
        try:
            self.environment.get_config().set(key, value)
            self._follow()
        except Exception:
            own.remove_config(key)
            if before is not None:
                own.set_string(key, before)
            raise

    def reset(self, key: str | None) -> None:
        """Reset one option, or all options if the key is None."""
        own = self.environment.get_config().get_configuration()
        for each in [key] if key is not None else list(self.own_settings()):
            own.remove_config(each)
        self._follow()

    def _follow(self) -> None:
        """Make the stream environment below the tables from the current options (mode, parallelism, checkpoints,
        ...)."""
        settings = self.settings()
        mode = settings.get(MODE, _MODES[0]).lower()
        if mode not in _MODES:
            raise SqlError(f"'{MODE}' is 'streaming' or 'batch', not '{mode}'")
        session = self.environment._session
        session.streams = StreamExecutionEnvironment(Configuration.from_dict(settings))
        session.streaming = mode == _MODES[0]
        _import_from(settings.get(FILES, ""))


def _import_from(files: str) -> None:
    """Put Python files on the import path, so that CREATE FUNCTION finds them. All sessions of this process share
    modules."""
    for each in filter(None, (part.strip() for part in files.split(","))):
        path = import_path(os.path.abspath(each.removeprefix("file://")))
        if path not in sys.path:
            sys.path.append(path)


# Jobs

MANY_JOBS = 20


class SqlJob:
    """One job of a SQL session. Its name and start time are known once it runs."""

    def __init__(self, client: Any, collecting: bool = False, name: str | None = None) -> None:
        self.client = client
        self.collecting = collecting
        """whether the job is a query: its error is raised where its rows are read, so it needs no report"""
        self.name = name
        """name of a job that runs in a cluster and outlives this process; None: a job of this process"""
        self.announced = collecting

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
        """Whether the job ends with this process."""
        return self.name is None


class SqlJobs:
    """Submits jobs, and finds them again.

    :param say: is called before Spark is started, which takes some seconds.
    :param cluster: the one that takes the jobs of INSERTs at the moment; None: this process runs them.
    """

    def __init__(self, say: Callable[[str], None], cluster: Callable[[], Cluster | None] = lambda: None) -> None:
        self._say = say
        self._cluster = cluster
        self._jobs: list[SqlJob] = []
        self._started: dict[str, tuple[JobStarted, datetime.datetime]] = {}

    def announce(self) -> None:
        """Announce that Spark will be started, if it has to be."""
        if spark_context() is None:
            self._say("Starting Spark ...")

    def submit(self, submission: Submission) -> SparkJobClient:
        """A ``Submitter``."""
        cluster = self._cluster()
        if cluster is not None and submission.portable is not None:
            from millrace.cluster.client import hand_over

            portable = submission.portable()
            client: Any = hand_over(portable, cluster)
            self._jobs.append(SqlJob(client, name=portable.name))
            return client  # type: ignore[no-any-return]
        self.announce()
        client = submission.start()
        self._jobs.append(SqlJob(client, submission.collecting))
        return client  # type: ignore[no-any-return]

    def listener(self, announce: Callable[[str], None] = lambda _: None) -> _Listener:
        """A listener for one job of this process.

        :param announce: is called with the job's id before it starts, on the thread that drives it.
        """
        return _Listener(self._started, announce)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Id, name, status and start time of the jobs of this session and of its cluster, the newest first.

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
        """Path of Spark's log; None before the first job."""
        return next((started.log_file for started, _ in self._started.values()), None)

    def find(self, id: str) -> SqlJob:
        """Find a job of this session, or of its cluster, by its id.

        :raises SqlError: there is no such job.
        """
        for job in self._jobs:
            if job.id == id:
                return job
        cluster = self._cluster()
        known = [job.id for job in self._jobs]
        if cluster is not None:
            from millrace.cluster.client import RestJobClient

            lines = _lines(cluster)
            for line in lines:
                if line.id == id:
                    return SqlJob(RestJobClient(id, cluster.url, cluster.token), name=line.name)
            known += [line.id for line in lines][:MANY_JOBS]
        whose = "this client has started" if cluster is None else f"the cluster at {cluster.url} knows"
        raise SqlError(f"{whose} no job '{id}'{did_you_mean(id, known)}: SHOW JOBS lists those that it has")

    def running(self) -> list[SqlJob]:
        """INSERTs that still run and would end with this process."""
        return [job for job in self._here() if not job.collecting and job.running]

    def failures(self) -> Iterator[tuple[SqlJob, BaseException]]:
        """INSERTs that have failed, each reported once."""
        for job in self._jobs:
            if job.announced:
                continue
            with contextlib.suppress(ElsewhereError):  # what cannot be asked now may be the next time
                if not job.running:
                    job.announced = True
                    error = _failure(job)
                    if error is not None:
                        yield job, error

    def wait(self) -> None:
        """Wait until the INSERTs of this process have ended, or one of them has failed."""
        wait(
            [job.client.get_job_execution_result().future() for job in self._here() if not job.collecting],
            None,
            FIRST_EXCEPTION,
        )

    def cancel(self) -> None:
        """Cancel all running jobs of this process, and wait for their end."""
        stopping = [job.client.cancel() for job in self._here() if job.running]
        for stopped in stopping:
            stopped.result()

    def _here(self) -> list[SqlJob]:
        return [job for job in self._jobs if job.is_here]


def _lines(cluster: Cluster) -> list[JobLine]:
    from millrace.cluster.rest_jobs import RestJobs

    return RestJobs(cluster.url, cluster.token).jobs()


def _failure(job: SqlJob) -> BaseException | None:
    """The error of a job that has failed; None if it finished or was cancelled."""
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


# Statements about the session and its jobs

JOB_COLUMNS = ("job id", "job name", "status", "start time")


def answer(
    statement: s.Statement, session: SqlSession, jobs: SqlJobs, defaults: Mapping[str, str]
) -> TableResult | None:
    """The result of a statement about settings or jobs; None for any other statement.

    :param defaults: what SET shows of options that are not set.
    :raises SqlError: it cannot be done.
    """
    match statement:
        case s.Set(key=None):
            return table(("key", "value"), sorted(mask_options({**defaults, **session.settings()}).items()))
        case s.Set(key=str() as key, value=value):
            # Texts of statements know their positions, which settings do not need.
            session.set(str(key), str(value or ""))
            return done()
        case s.Reset(key=key):
            session.reset(key)
            return done()
        case s.Show(kind="JOBS", pattern=pattern):
            return table(JOB_COLUMNS, [row for row in jobs.rows() if fits(row[1], pattern)])
        case s.Show(kind="JARS"):
            return table(("jars",), [])
        case s.DescribeJob(job=id):
            found = jobs.find(id)
            return table(JOB_COLUMNS, [row for row in jobs.rows() if row[0] == found.id])
        case s.StopJob():
            return _stop(statement, jobs)
        case s.Jar():
            raise SqlError(
                f"{statement.action} JAR: connectors, formats and functions are Python here. Install a connector with "
                "pip, give modules with functions with -pyfs, and jars for Spark itself with -D spark.jars=PATH",
                statement.position,
            )
    return None


def _stop(statement: s.StopJob, jobs: SqlJobs) -> TableResult:
    job = jobs.find(statement.job)
    if statement.with_drain and not statement.with_savepoint:
        raise SqlError("WITH DRAIN needs a savepoint: STOP JOB '..' WITH SAVEPOINT WITH DRAIN", statement.position)
    if not job.running:
        raise SqlError(f"job {job.id} is over: {job.status.name}")
    if statement.with_savepoint:
        path = job.client.stop_with_savepoint(statement.with_drain).result()
        return table(("savepoint path",), [(path,)])
    job.announced = True
    job.client.cancel().result()
    return done()


def table(names: tuple[str, ...], rows: list[Any]) -> TableResult:
    """A result with rows of texts."""
    return listing(tuple(Field(name, t.string()) for name in names), rows)
