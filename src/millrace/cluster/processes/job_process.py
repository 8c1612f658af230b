"""The process of one program: what the supervisor's fork becomes.

It writes the documents of its jobs to files, which outlive it, for the rest of the cluster.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TextIO

from millrace.cluster import job_folder, rpc, submissions
from millrace.cluster.documents import JobDocument
from millrace.cluster.processes.engine import attach_to_engine
from millrace.cluster.publishing import published_jobs
from millrace.cluster.rpc import CallServer
from millrace.cluster.socket_control import JobsHere
from millrace.cluster.submissions import SubmittedProgram, read_submission
from millrace.common.jobs import JobStatus
from millrace.configuration.files import log_limits
from millrace.spark.job_records import read_jobs
from millrace.util.logs import keep_own_short

# Documents of its jobs

LOOK_SECONDS = 0.5
_BEFORE = {
    JobStatus.FAILED.name: JobStatus.FAILING.name,
    JobStatus.CANCELED.name: JobStatus.CANCELLING.name,
    JobStatus.FINISHED.name: JobStatus.RUNNING.name,
}
"""State of an end that is not recorded yet -> the state that is shown instead."""
WRITE_SECONDS = 10.0
"""Longest time between two writes of the jobs' documents while no state changes."""


class JobDocumentWriter:
    """Writes the documents of this process's jobs to a file while they run, and archives those of ended jobs."""

    def __init__(self, cluster: str, program: str, recovery: str) -> None:
        """:param recovery: file in which drivers record the jobs that have ended."""
        self._cluster = cluster
        self._recovery = recovery
        self._program = program
        self._closed = threading.Event()
        self._states: list[tuple[str, str]] = []
        self._written = 0.0
        self._lock = threading.Lock()
        published_jobs()  # from here on it hears of all
        self.here = JobsHere(published_jobs, self._shown)
        threading.Thread(target=self._watch, name="millrace-documents", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):  # no space: the next look tries again
                self._write()

    def _shown(self, document: JobDocument) -> JobDocument:
        """The document to write: a job whose end is not recorded is not shown as ended, since the next driver may
        restore it should this process die now (the driver's JVM is lost, or the job is just cleaning up)."""
        if document.state not in _BEFORE:
            return document
        ends = {job.job_id: job.status for job in read_jobs(self._recovery)}
        if ends.get(document.id, document.state) is not None:
            return document
        return replace(document, state=_BEFORE[document.state], ended=-1)

    def _write(self) -> None:
        with self._lock:
            documents = self.here.documents()
            for document in documents:
                if document.state in job_folder.OVER and not job_folder.is_archived(self._cluster, document.id):
                    job_folder.archive(self._cluster, document)
            states = [(document.id, document.state) for document in documents]
            if states != self._states or (states and time.monotonic() - self._written > WRITE_SECONDS):
                job_folder.write_documents(self._program, documents)
                self._states, self._written = states, time.monotonic()

    def close(self) -> None:
        """Write the last documents, because the program has ended."""
        self._closed.set()
        self._write()


# The process

DRIVER_LOST = 70
"""Exit code of a driver whose JVM is gone: the program has to be restarted."""
NOT_THE_ONE = 79
"""Exit code of a fork whose program runs already, or has run, in another process."""
FAILED = 1


@dataclass(frozen=True)
class ProgramRun:
    """A program that is about to run in this process."""

    submission: SubmittedProgram
    program: str
    """folder of the program"""
    configuration: Mapping[str, str]
    """configuration of the cluster, which holds the defaults of its programs"""
    files: Mapping[str, str]
    """the part of the cluster's configuration that comes from files; a program's own files override it"""
    work: str
    """folder for files that can be deleted when the program has ended"""
    recovery: str
    """recovery file: what a driver leaves for its successor"""
    announce: Callable[[str], None]
    """is called with the id of each job before the job starts, on the thread that drives it"""


Entry = Callable[[ProgramRun, JobsHere], int]
"""Runs the program; returns its exit code."""


def become_job(cluster: str, program: str, attempt: int, streams: Sequence[int], entry: Entry) -> NoReturn:
    """Run a program in this process, a fork of the supervisor, and end with it.

    :param streams: standard input, output and error.
    """
    code = FAILED
    try:
        os.setsid()
        _signals_as_usual()
        _take_streams(streams)
        if not submissions.begin(program, attempt):
            os._exit(NOT_THE_ONE)
        code = _run(cluster, program, entry)
        if code != DRIVER_LOST:
            submissions.write_outcome(program, submissions.Outcome(code, time.time_ns() // 1_000_000))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(cluster: str, program: str, entry: Entry) -> int:
    submission = read_submission(program)
    os.environ.clear()
    os.environ.update(submission.environment)
    os.chdir(submission.directory)
    known = set(sys.path)
    sys.path.extend(path for path in submission.paths if path not in known)
    announce = _nothing if submission.isolated else attach_to_engine(cluster, submission.id)
    configuration = job_folder.read_configuration(cluster)
    logs = [os.path.join(cluster, job_folder.LOGS, f"{submission.id}{end}") for end in (".out", ".log")]
    keep_own_short(logs, log_limits(configuration))
    work = os.path.join(program, "work")
    os.makedirs(work, mode=0o700, exist_ok=True)
    recovery = os.path.join(work, "jobs")
    published = JobDocumentWriter(cluster, program, recovery)
    service = CallServer(rpc.listen(rpc.socket_path(program, rpc.CONTROL)), published.here.calls(), "millrace-control")
    service.start()
    try:
        files = job_folder.read_files(cluster)
        run = ProgramRun(submission, program, configuration, files, work, recovery, announce)
        return _ends(lambda: entry(run, published.here))
    finally:
        published.close()
        service.close()


def _ends(entry: Callable[[], int]) -> int:
    """Wait for the program's threads and run its exit handlers, as Python does at its end; returns the exit code."""
    try:
        code = entry()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = FAILED
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    return code


def _nothing(job: str) -> None:
    """Announces a job to no engine: for a program with a Spark of its own."""


def _signals_as_usual() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python has it
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it would kill a driver that has no job yet
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _take_streams(streams: Sequence[int]) -> None:
    for target, source in enumerate(streams):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = sys.__stdin__ = _text(0, "r")  # type: ignore[misc, assignment]
    sys.stdout = sys.__stdout__ = _text(1, "w")  # type: ignore[misc, assignment]
    sys.stderr = sys.__stderr__ = _text(2, "w", "backslashreplace")  # type: ignore[misc, assignment]


def _text(file: int, mode: str, errors: str | None = None) -> TextIO:
    lines = 1 if file == 2 or (mode == "w" and os.isatty(file)) else -1
    return open(file, mode, buffering=lines, errors=errors, closefd=False)  # type: ignore[return-value]
