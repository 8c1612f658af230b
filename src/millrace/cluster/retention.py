"""How long a cluster keeps jobs that have ended: their documents, the folders of their programs, their logs.

The server writes documents to ``jobmanager.archive.fs.dir`` first, where a history server finds them; what could not be
written is written later, if need be after a restart.
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
from millrace.common.config_values import to_duration, to_int
from millrace.util.logs import log_of

READERS_SECONDS = 60.0
"""As long at least a job that has ended stays, whatever the limits say: who waits for it looks every second."""
KEPT_ELSEWHERE = ".kept"
"""ends the name of the file that says that a job's document lies where ``jobmanager.archive.fs.dir`` says, too"""
ARCHIVE_DIRECTORY = "jobmanager.archive.fs.dir"
_SECONDS = "jobstore.expiration-time"
_DURATION = "completed-application-store.expiration-time"
_CAPACITIES = ("completed-application-store.max-capacity", "jobstore.max-capacity")


@dataclass(frozen=True)
class Limits:
    """What is kept of jobs that have ended."""

    seconds: float = 3600.0
    jobs: int = 2_147_483_647
    elsewhere: bool = False
    """whether documents go to another place first"""


def limits(configuration: Mapping[str, str]) -> Limits:
    """What the configuration says, with Flink's defaults.

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
    """Remove what is beyond the limits. Jobs of programs that still run stay.

    :param now: s since the epoch.
    """
    now = time.time() if now is None else now
    left = set(_expire_jobs(cluster, kept, now))
    done = os.path.join(cluster, job_folder.DONE)
    for name in os.listdir(done):
        program = os.path.join(done, name)
        if is_unfinished(name):
            shutil.rmtree(program, ignore_errors=True)  # whoever removed it has died
        elif name not in left and _is_over(program, left, kept, now):
            hidden = os.path.join(done, f"{UNFINISHED}{uuid.uuid4().hex}")
            if move(program, hidden):
                shutil.rmtree(hidden, ignore_errors=True)
                _remove_logs(cluster, name)


def _expire_jobs(cluster: str, kept: Limits, now: float) -> Iterator[str]:
    """Remove documents; the ids of those that stay."""
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
        elsewhere = path.removesuffix(".json") + KEPT_ELSEWHERE
        if id not in beyond or id in running or (kept.elsewhere and not os.path.exists(elsewhere)):
            yield id
            continue
        for each in (path, elsewhere):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(each)


def _running(cluster: str) -> Iterator[str]:
    """The jobs of all programs that have not ended; some of theirs may have."""
    for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
        for name in job_folder.names(cluster, place):
            yield name
            yield from (document.id for document in job_folder.read_documents(os.path.join(cluster, place, name)))


def _is_over(program: str, left: Iterable[str], kept: Limits, now: float) -> bool:
    """Whether a program may go, since its jobs are gone; without jobs it goes when it ended long ago."""
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
"""between attempts, as long as the place can't be written to"""

_log = logging.getLogger(__name__)


class ArchiveWriter:
    """Looks after the archive of a cluster; what it could not write it writes later, if need be after a restart."""

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
        """Write what is not written yet."""
        for _, path in job_folder.archived(self._cluster):
            done = path.removesuffix(".json") + KEPT_ELSEWHERE
            if os.path.exists(done):
                continue
            document = job_folder.read_archive(path)
            if document is not None:
                write_archive(self._directory, document)
                write_file(done, b"")
