"""What the process of a program tells the rest of its cluster about its jobs: files that outlive it."""

from __future__ import annotations

import contextlib
import threading
import time

from millrace.cluster.places import job_folder
from millrace.cluster.publishing import published_jobs
from millrace.cluster.remote.control_service import JobsHere

LOOK_SECONDS = 0.5
WRITE_SECONDS = 10.0
"""How old the written documents of jobs may be whose states have not changed."""


class Published:
    """Writes the documents of the jobs of this process while they run, and keeps those of jobs that have ended."""

    def __init__(self, cluster: str, program: str) -> None:
        self._cluster = cluster
        self._program = program
        self._closed = threading.Event()
        self._states: list[tuple[str, str]] = []
        self._written = 0.0
        self._lock = threading.Lock()
        published_jobs()  # from here on it hears of all
        self.here = JobsHere(published_jobs)
        threading.Thread(target=self._watch, name="millrace-documents", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            with contextlib.suppress(OSError):  # no space: the next look tries again
                self._write()

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
