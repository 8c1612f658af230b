"""Retention of ended jobs in a cluster: removes their documents, the folders of their programs and their logs.

The server copies documents to ``jobmanager.archive.fs.dir`` first, where a history server finds them; failed copies are
repeated, if need be after a restart.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from millrace.cluster import job_folder, submissions
from millrace.cluster.durable_files import UNFINISHED, is_unfinished, move, write_file
from millrace.cluster.history import write_archive
from millrace.common.configuration import to_duration, to_int
from millrace.util.logs import log_of

READERS_SECONDS = 60.0
"""Shortest retention of an ended job, whatever the limits are: a client that waits for the job polls every second."""
RETAINED_ELSEWHERE = ".kept"
"""suffix of the file that marks a job's document as copied to ``jobmanager.archive.fs.dir``"""
ARCHIVE_DIRECTORY = "jobmanager.archive.fs.dir"
_SECONDS = "jobstore.expiration-time"
_DURATION = "completed-application-store.expiration-time"
_CAPACITIES = ("completed-application-store.max-capacity", "jobstore.max-capacity")


@dataclass(frozen=True)
class Limits:
    """Retention limits of ended jobs: their age (s) and their number."""

    seconds: float = 3600.0
    jobs: int = 2_147_483_647
    elsewhere: bool = False
    """whether documents must be copied to ``jobmanager.archive.fs.dir`` before they are removed"""


def limits(configuration: Mapping[str, str]) -> Limits:
    """The limits that a configuration sets, with Flink's defaults.

    :raises ValueError: it says nonsense.
    """
    seconds = Limits.seconds
    if _SECONDS in configuration:
        seconds = float(to_int(configuration[_SECONDS]))
    elif _DURATION in configuration:
        seconds = to_duration(configuration[_DURATION]).to_millis() / 1000
    capacity = next((to_int(configuration[key]) for key in _CAPACITIES if key in configuration), Limits.jobs)
    return Limits(seconds, capacity, bool(configuration.get(ARCHIVE_DIRECTORY)))


def expire(cluster: str, kept: Limits, now: float | None = None) -> None:
    """Remove ended jobs beyond the limits. Jobs of programs that still run stay.

    :param now: s since the epoch.
    """
    now = time.time() if now is None else now
    left = set(_expire_jobs(cluster, kept, now))
    done = os.path.join(cluster, job_folder.DONE)
    for name in os.listdir(done):
        program = os.path.join(done, name)
        if is_unfinished(name):
            shutil.rmtree(program, ignore_errors=True)  # the process that was removing it has died
        elif name not in left and _is_over(program, left, kept, now):
            hidden = os.path.join(done, f"{UNFINISHED}{uuid.uuid4().hex}")
            if move(program, hidden):
                shutil.rmtree(hidden, ignore_errors=True)
                _remove_logs(cluster, name)


def _expire_jobs(cluster: str, kept: Limits, now: float) -> Iterator[str]:
    """Remove documents beyond the limits; returns the ids of jobs that stay."""
    aged: list[tuple[float, str, str]] = []
    for id, path in job_folder.archived(cluster):
        with contextlib.suppress(FileNotFoundError):
            aged.append((now - os.stat(path).st_mtime, id, path))
    beyond = {
        id
        for rank, (age, id, _) in enumerate(sorted(aged))
        if age > READERS_SECONDS and (age > kept.seconds or rank >= kept.jobs)
    }
    running = set(_running(cluster)) if beyond else set()
    for _, id, path in aged:
        elsewhere = path.removesuffix(".json") + RETAINED_ELSEWHERE
        if id not in beyond or id in running or (kept.elsewhere and not os.path.exists(elsewhere)):
            yield id
            continue
        for each in (path, elsewhere):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each)


def _running(cluster: str) -> Iterator[str]:
    """The jobs of all programs that have not ended; single jobs of these may have ended."""
    for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
        for name in job_folder.names(cluster, place):
            yield name
            yield from (document.id for document in job_folder.read_documents(os.path.join(cluster, place, name)))


def _is_over(program: str, left: Iterable[str], kept: Limits, now: float) -> bool:
    """Whether a program's folder may be removed: its jobs are gone, or it never had a job and ended long ago."""
    outcome = submissions.read_outcome(program)
    try:
        ended = os.stat(program).st_ctime if outcome is None else outcome.ended / 1000
    except FileNotFoundError:
        return False
    if now - ended <= READERS_SECONDS:
        return False
    documents = job_folder.read_documents(program)
    return not any(each.id in left for each in documents) if documents else now - ended > kept.seconds


def _remove_logs(cluster: str, name: str) -> None:
    logs = os.path.join(cluster, job_folder.LOGS)
    for each in os.listdir(logs):
        if log_of(each) in (f"{name}.log", f"{name}.out"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(logs, each))


# The archive

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
"""pause after a failed copy"""

_log = logging.getLogger(__name__)


class ArchiveWriter:
    """Copies documents of ended jobs to the archive directory; failed copies are repeated, if need be after a
    restart."""

    def __init__(self, cluster: str, directory: str) -> None:
        self._cluster = cluster
        self._directory = directory
        self._closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_looking, name="millrace-archive", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _keep_looking(self) -> None:
        told = False
        while True:
            try:
                self.look()
                told, seconds = False, LOOK_SECONDS
            except Exception as error:  # of any file system, and of any store behind it
                if not told:
                    _log.warning("Jobs can't be archived in %s, which is tried again: %s", self._directory, error)
                told, seconds = True, PATIENCE_SECONDS
            if self._closed.wait(seconds):
                return

    def look(self) -> None:
        """Copy the documents that are not in the archive directory yet."""
        for _, path in job_folder.archived(self._cluster):
            done = path.removesuffix(".json") + RETAINED_ELSEWHERE
            if os.path.exists(done):
                continue
            document = job_folder.read_archive(path)
            if document is not None:
                write_archive(self._directory, document)
                write_file(done, b"")
