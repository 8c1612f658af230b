"""The jobs of a program that a command runs in this process: hooks, cancelling, savepoints, and reports of failures.

``hooks`` connects the program's environments and jobs to the command. SIGUSR1 takes a savepoint of the running jobs.
``report`` prints the part of a failure that helps the program's author, and where the rest is.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from millrace.activate import activate, activate_where_missing, deactivate, is_active
from millrace.cli.supervisor import DRIVER_LOST, SAVEPOINT
from millrace.common.configuration import Configuration
from millrace.common.jobs import JobStatus
from millrace.datastream.settings import Submission, Submitter, set_defaults, set_submitter
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import describe, full_traceback, user_location
from millrace.spark.errors import DriverLostError
from millrace.spark.java import JavaNotFoundError
from millrace.spark.jobs.listeners import PlainListener, set_listener_factory
from millrace.spark.sessions.logs import keep
from millrace.util.tracebacks import below_millrace, raised_by_millrace, user_traceback

if TYPE_CHECKING:
    from millrace.cli.program import RunSettings
    from millrace.spark.jobs.listeners import JobListener
    from millrace.spark.jobs.submit import SparkJobClient


@contextlib.contextmanager
def hooks(
    settings: RunSettings,
    submitter: Submitter,
    listener: Callable[[], JobListener] = PlainListener,
    pyflink: bool = False,
) -> Iterator[None]:
    """Inside, environments start with the settings, and their jobs go to the submitter.

    :param pyflink: whether ``import pyflink`` means Millrace also where PyFlink is installed.
    """
    set_defaults(Configuration.from_dict(settings.configuration))
    set_submitter(submitter)
    set_listener_factory(listener)
    already = is_active()
    if pyflink:
        activate()
    elif not already:
        activate_where_missing(_tell)
    try:
        yield
    finally:
        set_defaults(None)
        set_submitter(None)
        set_listener_factory(PlainListener)
        if not already:
            deactivate()


def _tell() -> None:
    click.echo("PyFlink is not installed: `import pyflink` means Millrace here, as with --pyflink", err=True)


class Jobs:
    """Tracks the jobs of a program, so that none outlives it and none is cut off by its end."""

    def __init__(self, start: Callable[[Submission], SparkJobClient]) -> None:
        self._start = start
        self._detached: list[SparkJobClient] = []
        self._collecting: list[SparkJobClient] = []

    def submit(self, submission: Submission) -> SparkJobClient:
        client = self._start(submission)
        (self._collecting if submission.collecting else self._detached).append(client)
        return client

    def wait(self) -> None:
        """Wait for jobs that the program didn't wait for. Raises the error of a job that fails now."""
        # A job whose results are not read any more would wait for its reader without end.
        _cancel(self._collecting)
        for client in self._detached:
            if not _ended(client):
                client.wait()

    def running(self) -> list[SparkJobClient]:
        """The jobs that have not ended."""
        return [client for client in (*self._detached, *self._collecting) if not _ended(client)]

    def lost(self) -> BaseException | None:
        """The error of a job whose JVM is gone, which explains whatever else the program has raised."""
        from millrace.spark.errors import DriverLostError

        for client in (*self._detached, *self._collecting):
            if client.get_job_status().result() is JobStatus.FAILED:
                error = client.get_job_execution_result().future().exception()  # it waits for the very end
                if isinstance(error, DriverLostError):
                    return error
        return None

    def cancel(self) -> None:
        """Cancel all running jobs, and wait for their end."""
        _cancel([*self._detached, *self._collecting])


def _ended(client: SparkJobClient) -> bool:
    return client.get_job_status().result().is_globally_terminal_state()


def _cancel(clients: list[SparkJobClient]) -> None:
    running = [client for client in clients if not _ended(client)]
    stopping = [client.cancel() for client in running]
    for stopped in stopping:
        stopped.result()


@contextlib.contextmanager
def savepoints_on_signal(jobs: Jobs, say: Callable[[str], None]) -> Iterator[None]:
    """Inside, the signal takes a savepoint of each running job into the configured directory, and says its path.

    A signal that comes while savepoints are being taken asks for the same ones.
    """
    if SAVEPOINT is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler may interrupt anything: this queue is made to be used there, and the work is done elsewhere.
    requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(requests, jobs, say), name="millrace-savepoints", daemon=True).start()
    before = signal.signal(SAVEPOINT, lambda *_: requests.put(True))
    try:
        yield
    finally:
        signal.signal(SAVEPOINT, before)
        requests.put(False)


def _serve(requests: queue.SimpleQueue[bool], jobs: Jobs, say: Callable[[str], None]) -> None:
    while requests.get():
        _take_savepoints(jobs, say)
        while not requests.empty():
            if not requests.get():
                return


def _take_savepoints(jobs: Jobs, say: Callable[[str], None]) -> None:
    running = jobs.running()
    if not running:
        say("no savepoint: no job is running")
    for client in running:
        name = f"job {client.get_job_id()}"
        try:
            say(f"savepoint of {name}: {client.trigger_savepoint().result()}")
        except Exception as error:
            say(f"no savepoint of {name}: {describe(error)}")


FAILED = 1
"""Exit code: the program or its job failed."""
NOT_BEGUN = 2
"""Exit code: nothing was started, because the command line is wrong (click's code for that) or Java is missing."""

_TEXT_LIMIT = 500
_ENGINE = ("pyspark", "py4j")
_ALL_OF_IT = "(--verbose shows all of it)"


@dataclass(frozen=True)
class Report:
    """A message and an exit code."""

    text: str
    exit_code: int = FAILED


def report(error: BaseException, log_file: str | None = None, verbose: bool = False) -> Report:
    """Explain an error that the user's program raised."""
    if isinstance(error, JavaNotFoundError):
        return Report(str(error), NOT_BEGUN)
    if isinstance(error, DriverLostError):
        return Report(_with_log(str(error), log_file), DRIVER_LOST)
    if isinstance(error, JobFailedError):
        text = f"{error!s}\n\n{error.failure.detail}" if verbose and error.failure.detail else str(error)
        return Report(_with_log(text, log_file))
    if verbose:
        return Report(full_traceback(error).rstrip())
    if raised_by_millrace(error):
        return Report(_short(f"{type(error).__name__}: {error}", error))
    if type(error).__module__.startswith(_ENGINE) and below_millrace(error):
        text = _short(f"Spark: {spark_line(error)}", error)
        return Report(_with_log(f"{text}\n{_ALL_OF_IT}", log_file))
    if isinstance(error, OSError) and below_millrace(error):
        return Report(f"{_short(f'{type(error).__name__}: {error}', error)}\n{_ALL_OF_IT}")
    return Report(user_traceback(error, keep_ours=below_millrace(error)))


def _with_log(text: str, log_file: str | None) -> str:
    if log_file is not None:
        keep(log_file)
    return text if log_file is None or log_file in text else f"{text}\ndetails: {log_file}"


def spark_line(error: BaseException) -> str:
    """Spark's message in an error, without its Java stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].lstrip(": ")[:_TEXT_LIMIT]  # py4j puts its own words in front
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:_TEXT_LIMIT]


def _short(message: str, error: BaseException) -> str:
    where = user_location(error)
    return message if where is None else f"{message}\n  at {where}"
