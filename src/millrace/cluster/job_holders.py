"""Two holders of jobs: ``ClusterJobs`` for the jobs of a cluster, ``ProcessHolder`` for a program in the foreground.

``ClusterJobs`` polls the cluster's folder twice a second, so that a request costs nothing. ``ProcessHolder`` is the
``JobHolder`` of this process. Log files are found by checked names.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from millrace.checkpoint.metadata import dispose
from millrace.cluster import job_folder, rpc, submissions
from millrace.cluster.control import JobControl
from millrace.cluster.documents import JobDocument, LogDocument, TaskManagerDocument, ThreadDocument
from millrace.cluster.rpc import NotThereError, RefusedError
from millrace.cluster.run_folder import read_entry
from millrace.cluster.socket_control import JobsHere, read_documents
from millrace.cluster.submissions import read_submission
from millrace.util.logs import log_of
from millrace.util.secrets import mask_options
from millrace.util.tracebacks import stacks

# Log files

PIECE_BYTES = 64 * 1024
READ_BYTES = 16 * 1024 * 1024
"""Bytes of a log that are read, from its end."""


def is_log(name: str) -> bool:
    """Whether a file is a log or a rotated log: ``a.log``, ``a.out.2``."""
    return log_of(name).endswith((".log", ".out"))


def with_older(path: str) -> list[str]:
    """The paths of a log and of its rotated files."""
    folder, name = os.path.split(path)
    with contextlib.suppress(FileNotFoundError):
        return [path, *(os.path.join(folder, each) for each in sorted(os.listdir(folder)) if _is_older(each, name))]
    return [path]


def _is_older(found: str, name: str) -> bool:
    return found != name and log_of(found) == name


def list_logs(paths: Iterable[str]) -> list[LogDocument]:
    """Descriptions of the log files at the given paths; paths without a file are skipped."""
    found = []
    for path in paths:
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            continue
        found.append(LogDocument(os.path.basename(path), stat.st_size, stat.st_mtime_ns // 1_000_000))
    return found


def read_log(paths: Iterable[str], name: str) -> Iterator[bytes] | None:
    """The content of the log with this name, piece by piece; None if it is not among the paths."""
    for path in paths:
        if os.path.basename(path) == name:
            try:
                file = open(path, "rb")  # noqa: SIM115  closed by the reader at its end
            except FileNotFoundError:
                return None
            return _pieces(file)
    return None


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The content up to the file's present end: a log grows while it is read."""
    with file:
        left = os.fstat(file.fileno()).st_size
        if left > READ_BYTES:
            file.seek(left - READ_BYTES)
            left = READ_BYTES
        while left and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece


# Jobs of a cluster

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 1.0
"""How long a poll waits for one process; after that its last written documents are used."""


@dataclass(frozen=True)
class ClusterJob:
    """A job, and the folder of its program; None if the job is archived."""

    document: JobDocument
    program: str | None = None


class ClusterJobs:
    """The jobs of a cluster. Its folder is polled twice a second, so that a request costs nothing."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._archived: dict[str, ClusterJob] = {}
        self._running: dict[str, ClusterJob] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def start(self) -> None:
        self.look()
        threading.Thread(target=self._keep_looking, name="millrace-look", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def all(self) -> list[ClusterJob]:
        """All jobs: running ones first, then archived ones, the last ended first."""
        with self._lock:
            ended = any(map(self._has_ended, self._running.values()))
        if ended:
            self.look()
        with self._lock:
            running, archived = list(self._running.values()), list(self._archived.values())
        running.sort(key=lambda job: -job.document.started)
        archived.sort(key=lambda job: -job.document.ended)
        return running + archived

    def get(self, id: str) -> ClusterJob | None:
        with self._lock:
            found = self._archived.get(id) or self._running.get(id)
        if found is None or self._has_ended(found):
            self.look()  # it may have been submitted, or have ended, since the last look
            with self._lock:
                found = self._archived.get(id) or self._running.get(id)
        return found

    def _has_ended(self, job: ClusterJob) -> bool:
        """Whether a job has ended since the last poll."""
        return job.program is not None and job_folder.is_archived(self._cluster, job.document.id)

    def _keep_looking(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self.look()
            except OSError:
                continue  # the folder is being removed: the supervisor ends this process

    def _as_it_is(self, document: JobDocument, program: str) -> JobDocument:
        """Correct a written document whose process is dead: SUSPENDED if the cluster has no supervisor, else FAILING
        instead of RUNNING."""
        if document.state in (*job_folder.OVER, "CREATED") or submissions.is_running(program):
            return document
        if read_entry(self._cluster) is None:
            return replace(document, state="SUSPENDED")  # it is not restarted until there is a supervisor again
        return replace(document, state="FAILING") if document.state == "RUNNING" else document

    def look(self) -> None:
        """Poll the folder now."""
        running: dict[str, ClusterJob] = {}
        for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
            for name in job_folder.names(self._cluster, place):
                program = os.path.join(self._cluster, place, name)
                for document in documents_of(program):
                    running[document.id] = ClusterJob(self._as_it_is(document, program), program)
        # Read after the running ones, so that a job that ends meanwhile is found here.
        found: dict[str, ClusterJob] = {}
        for id, path in job_folder.archived(self._cluster):
            if (known := self._archived.get(id)) is not None:
                found[id] = known
            elif (kept := job_folder.read_archive(path)) is not None:
                found[id] = ClusterJob(kept)
        with self._lock:
            self._archived = found
            self._running = {id: job for id, job in running.items() if id not in found}


def documents_of(program: str) -> Sequence[JobDocument]:
    """The documents of a program that has not ended: from its process, or else the last written ones."""
    if submissions.is_running(program):
        try:
            found = read_documents(rpc.socket_path(program, rpc.CONTROL), PATIENCE_SECONDS)
            if found:
                return found
        except (NotThereError, RefusedError, ValueError):
            pass  # it begins, ends, or hangs
    return job_folder.read_documents(program) or _waiting(program)


def _waiting(program: str) -> list[JobDocument]:
    """A document for a program that has no job yet."""
    try:
        submission = read_submission(program)
    except (OSError, ValueError):
        return []  # moved on meanwhile
    began, now = submission.submitted, time.time_ns() // 1_000_000
    times = {"CREATED": began}
    return [JobDocument(submission.id, submission.name, "CREATED", False, 1, 1, began, -1, now, times)]


def is_over(document: JobDocument) -> bool:
    return document.state in job_folder.OVER


# Jobs of this process


class ProcessHolder:
    """The jobs that this process has run.

    :param log_file: where Spark's JVM logs to, once that is known.
    """

    def __init__(
        self,
        here: JobsHere,
        configuration: Mapping[str, str],
        task_managers: Callable[[], Sequence[TaskManagerDocument]],
        log_file: Callable[[], str | None],
    ) -> None:
        self._here = here
        self._configuration = dict(configuration)
        self._task_managers = task_managers
        self._log_file = log_file

    def jobs(self) -> Sequence[JobDocument]:
        return sorted(self._here.documents(), key=lambda job: (is_over(job), -job.started))

    def job(self, id: str) -> JobDocument | None:
        control = self._here.control(id)
        return None if control is None else control.document()

    def control(self, id: str) -> JobControl | None:
        return self._here.control(id)

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        return self._task_managers()

    def configuration(self) -> Mapping[str, str]:
        return mask_options(self._configuration)

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return list_logs(self._log_paths())

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return read_log(self._log_paths(), name)

    def _log_paths(self) -> list[str]:
        found = self._log_file()
        return [] if found is None else with_older(found)

    def threads(self) -> Sequence[ThreadDocument]:
        return [ThreadDocument(stack.name, stack.text) for stack in stacks()]

    def dispose_savepoint(self, path: str) -> None:
        dispose(path)

    def shut_down(self) -> None:
        """Interrupt this process, as Ctrl-C does."""
        os.kill(os.getpid(), signal.SIGINT)
