"""Jobs of a cluster as programs see them: a ``JobClient`` over REST, usable from any process, and submission of jobs.

``execution.target: remote`` submits a job of a plain Python program to a cluster of this user on this machine: through
the cluster's folder, which only this user can write to.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from millrace.cluster import rpc, run_folder, submissions
from millrace.cluster.addresses import named_in, same_address
from millrace.cluster.control import ElsewhereError
from millrace.cluster.rest_jobs import RestJobs
from millrace.cluster.rpc import NotThereError, ask
from millrace.cluster.run_folder import describe_server
from millrace.common.jobs import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from millrace.datastream.settings import Portable
from millrace.util.by_value import pickled_by_value

if TYPE_CHECKING:
    from millrace.cluster.documents import JobDocument


T = TypeVar("T")
POLL_SECONDS = 0.25
TOKEN = "MILLRACE_TOKEN"
"""Environment variable with the token of a cluster that this user has not started on this machine."""


class RemoteJobFailedError(Exception):
    """Raised by ``RestJobClient.wait`` when a job of a cluster has failed or was cancelled; the text says why."""


class RestJobClient(JobClient):
    """A handle on one job of a cluster.

    :param address: ``http://127.0.0.1:8081``.
    :param token: what shows that the user may steer it; None: that of the cluster of this user at the address, or what
        MILLRACE_TOKEN says.
    """

    def __init__(self, job_id: str, address: str, token: str | None = None, jobs: RestJobs | None = None) -> None:
        self._id = job_id
        url = address if "://" in address else f"http://{address}"
        self._jobs = jobs or RestJobs(url, token or known_token(url))

    def get_job_id(self) -> JobID:
        return JobID(self._id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return _later(lambda: _status(self._jobs.state(self._id)))

    def document(self) -> JobDocument:
        """Fetch the job's document from the cluster.

        :raises ElsewhereError: it does not answer, or has no such job.
        """
        return self._jobs.document(self._id)

    def cancel(self) -> CompletableFuture[Any]:
        return _later(lambda: self._jobs.cancel(self._id))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        return _later(
            lambda: self._jobs.stop(self._id, savepoint_directory, advance_to_end_of_event_time, native=False)
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        return _later(lambda: self._jobs.savepoint(self._id, savepoint_directory, native=False))

    def trigger_checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint now; returns its number."""
        return _later(lambda: self._jobs.checkpoint(self._id, full))

    def query_state(self, operator: str, state: str, key: Any) -> CompletableFuture[Any]:
        """What a keyed state holds for a key, as JSON has it: lists for tuples, texts for what JSON has nothing for."""
        return _later(lambda: self._jobs.query_state(self._id, operator, state, key))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return _later(self._accumulators)

    def _accumulators(self) -> dict[str, Any]:
        found = self._jobs.ask("GET", f"/jobs/{self._id}/accumulators")
        return {each["name"]: _number(each["value"]) for each in found["user-task-accumulators"]}

    def get_metrics(self) -> NoReturn:
        """Always raises: REST offers metrics one by one (``/jobs/:jobid/vertices/:vertexid/metrics``), not as a
        report."""
        raise NotImplementedError("the metrics of a job elsewhere are those of its REST API: /jobs/:jobid/metrics")

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return _later(self._result)

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end and return its result. Ctrl-C cancels the job and raises KeyboardInterrupt.

        :raises RemoteJobFailedError: it did not finish.
        """
        try:
            return self._result()
        except KeyboardInterrupt:
            self._jobs.cancel(self._id)
            raise

    def _result(self) -> JobExecutionResult:
        while not _status(state := self._jobs.state(self._id)).is_globally_terminal_state():
            time.sleep(POLL_SECONDS)
        found = self._jobs.ask("GET", f"/jobs/{self._id}/execution-result").get("job-execution-result", {})
        if state != JobStatus.FINISHED.name:
            cause = found.get("failure-cause") or {}
            why = str(cause.get("stack-trace", "")).strip()
            raise RemoteJobFailedError(f"job {self._id} is {state}{': ' if why else ''}{why}")
        return JobExecutionResult(JobID(self._id), int(found.get("net-runtime", 0)), self._accumulators())


def known_token(url: str) -> str | None:
    """The token of the cluster of this user that listens at an address."""
    from millrace.cluster import run_folder
    from millrace.cluster.addresses import same_address
    from millrace.cluster.run_folder import describe_server

    for found in run_folder.find():
        server = describe_server(found.folder)
        if same_address(url, found.entry.address) or (server is not None and same_address(url, server.url)):
            return found.token
    return os.environ.get(TOKEN)


def _status(name: str) -> JobStatus:
    """The ``JobStatus`` with the given name; INITIALIZING, which Millrace does not have, becomes CREATED."""
    return JobStatus.CREATED if name == "INITIALIZING" else JobStatus[name]


def _number(text: str) -> Any:
    """The value of an accumulator, which REST shows as text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _later(work: Callable[[], T]) -> CompletableFuture[T]:
    """Run a function on a thread of its own; returns a future of its result."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except ElsewhereError as error:
            future.set_exception(error)
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name="millrace-client", daemon=True).start()
    return CompletableFuture(future)


# Jobs that are handed over to a cluster

JOB = "job.pickle"
"""File with the job in the folder of a submission."""


class NoClusterError(Exception):
    """No cluster runs to which a job could be submitted; the text says where one was looked for."""


@dataclass(frozen=True)
class Cluster:
    """A cluster of this user on this machine."""

    folder: str
    url: str
    token: str = field(repr=False)


def submit_to_cluster(job: Portable) -> RestJobClient:
    """Submit a job to the cluster that its configuration names, or the only one that runs.

    :raises NoClusterError: there is none, or it is on another machine.
    """
    return hand_over(job, cluster_named(job.configuration))


def hand_over(job: Portable, cluster: Cluster) -> RestJobClient:
    """Submit a job to a cluster. From then on the job belongs to the cluster and survives the end of this process."""
    payload = pickled_by_value(job)
    program = submissions.SubmittedProgram(
        job.job_id,
        os.getcwd(),
        job.name,
        environment=dict(os.environ),
        paths=tuple(os.path.abspath(path) for path in sys.path),
        python=sys.prefix,
        submitted=time.time_ns() // 1_000_000,
    )
    submissions.submit(cluster.folder, program, {JOB: payload})
    try:
        path = rpc.socket_path(cluster.folder, rpc.SUPERVISOR)
        ask(path, "the supervisor of the cluster", "submitted", id=job.job_id)
    except NotThereError:
        pass  # it finds the submission when it is there again
    return RestJobClient(job.job_id, cluster.url, cluster.token)


def handed_over(program: str) -> Portable | None:
    """The job that was submitted in a program's folder, which only this user can write to; None if the folder holds a
    program instead."""
    try:
        with open(os.path.join(program, JOB), "rb") as file:
            found: Portable = pickle.load(file)
    except FileNotFoundError:
        return None
    return found


def clusters() -> list[Cluster]:
    """All running clusters of this user on this machine whose server answers."""
    found = ((each, describe_server(each.folder)) for each in run_folder.find(run_folder.CLUSTER))
    return [Cluster(each.folder, server.url, each.token) for each, server in found if server is not None]


def cluster_named(configuration: Mapping[str, str]) -> Cluster:
    """The cluster that a configuration names, or the only one that runs.

    :raises NoClusterError: there is none, or it is on another machine.
    """
    named = named_in(configuration)
    found = [each for each in clusters() if named is None or same_address(named, each.url)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NoClusterError("several clusters run: set rest.address and rest.port to those of one")
    if named is None:
        raise NoClusterError("execution.target is remote, and no cluster runs: `millrace cluster start`")
    raise NoClusterError(
        f"execution.target is remote, and no cluster of this user listens at {named} on this machine; nearest for one "
        f"on another: millrace run -m {named} PROGRAM"
    )
