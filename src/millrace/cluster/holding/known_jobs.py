"""The jobs of a cluster, as its folder and the processes of its programs show them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.places import attempts, job_folder, sockets
from millrace.cluster.places.run_folder import read_entry
from millrace.cluster.places.submissions import read_submission
from millrace.cluster.remote.socket_control import read_documents
from millrace.cluster.wire.asking import NotThereError, RefusedError

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 1.0
"""How long a look waits for one process: beyond, its last written documents stand for it."""


@dataclass(frozen=True)
class KnownJob:
    """A job, and the folder of its program; None: it is archived."""

    document: JobDocument
    program: str | None = None


class KnownJobs:
    """Looks at the cluster twice a second, so that a question costs nothing."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._archived: dict[str, KnownJob] = {}
        self._running: dict[str, KnownJob] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def start(self) -> None:
        self.look()
        threading.Thread(target=self._keep_looking, name="millrace-look", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def all(self) -> list[KnownJob]:
        """Running ones first, then those that have ended last."""
        with self._lock:
            ended = any(map(self._has_ended, self._running.values()))
        if ended:
            self.look()
        with self._lock:
            running, archived = list(self._running.values()), list(self._archived.values())
        running.sort(key=lambda job: -job.document.started)
        archived.sort(key=lambda job: -job.document.ended)
        return running + archived

    def get(self, id: str) -> KnownJob | None:
        with self._lock:
            found = self._archived.get(id) or self._running.get(id)
        if found is None or self._has_ended(found):
            self.look()  # it may have been submitted, or have ended, since the last look
            with self._lock:
                found = self._archived.get(id) or self._running.get(id)
        return found

    def _has_ended(self, job: KnownJob) -> bool:
        """Whether a job has ended since the last look."""
        return job.program is not None and job_folder.is_archived(self._cluster, job.document.id)

    def _keep_looking(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self.look()
            except OSError:
                continue  # somebody removes the folder: the supervisor ends this process

    def _as_it_is(self, document: JobDocument, program: str) -> JobDocument:
        """What was written last of a job whose process is dead may say that it runs."""
        if document.state in (*job_folder.OVER, "CREATED") or attempts.is_running(program):
            return document
        if read_entry(self._cluster) is None:
            return replace(document, state="SUSPENDED")  # nobody goes on with it, until there is a supervisor again
        return replace(document, state="FAILING") if document.state == "RUNNING" else document

    def look(self) -> None:
        """Look now."""
        running: dict[str, KnownJob] = {}
        for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
            for name in job_folder.names(self._cluster, place):
                program = os.path.join(self._cluster, place, name)
                for document in documents_of(program):
                    running[document.id] = KnownJob(self._as_it_is(document, program), program)
        # After those that run: one that ends meanwhile is here, then.
        found: dict[str, KnownJob] = {}
        for id, path in job_folder.archived(self._cluster):
            if (known := self._archived.get(id)) is not None:
                found[id] = known
            elif (kept := job_folder.read_archive(path)) is not None:
                found[id] = KnownJob(kept)
        with self._lock:
            self._archived = found
            self._running = {id: job for id, job in running.items() if id not in found}


def documents_of(program: str) -> Sequence[JobDocument]:
    """The jobs of a program that has not ended: from its process, or as they were written last."""
    if attempts.is_running(program):
        try:
            found = read_documents(sockets.socket_path(program, sockets.CONTROL), PATIENCE_SECONDS)
            if found:
                return found
        except (NotThereError, RefusedError, ValueError):
            pass  # it begins, ends, or hangs
    return job_folder.read_documents(program) or _waiting(program)


def _waiting(program: str) -> list[JobDocument]:
    """What stands for a program that has no job yet."""
    try:
        submission = read_submission(program)
    except (OSError, ValueError):
        return []  # moved on meanwhile
    began, now = submission.submitted, time.time_ns() // 1_000_000
    times = {"CREATED": began}
    return [JobDocument(submission.id, submission.name, "CREATED", False, 1, 1, began, -1, now, times)]


def is_over(document: JobDocument) -> bool:
    return document.state in job_folder.OVER
