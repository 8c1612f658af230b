"""What the process of a program tells the rest of its cluster about its jobs: files that outlive it."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.places import job_folder
from millrace.cluster.publishing import published_jobs
from millrace.cluster.remote.control_service import JobsHere
from millrace.common.jobs.job_status import JobStatus
from millrace.spark.recovery_file import read_jobs

LOOK_SECONDS = 0.5
_BEFORE = {
    JobStatus.FAILED.name: JobStatus.FAILING.name,
    JobStatus.CANCELED.name: JobStatus.CANCELLING.name,
    JobStatus.FINISHED.name: JobStatus.RUNNING.name,
}
"""What an end is shown as that has not been recorded."""
WRITE_SECONDS = 10.0
"""How old the written documents of jobs may be whose states have not changed."""


class Published:
    """Writes the documents of the jobs of this process while they run, and keeps those of jobs that have ended."""

    def __init__(self, cluster: str, program: str, recovery: str) -> None:
        """:param recovery: file in which drivers say which jobs have ended."""
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
        """A job that has not recorded its end may go on with the next driver, should this process die now: it has lost
        its driver's JVM, or is just cleaning up."""
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
        """The program has ended: write the last documents."""
        self._closed.set()
        self._write()
