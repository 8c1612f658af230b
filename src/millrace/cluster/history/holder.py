"""Holds the jobs of archives: looks into directories now and then, and keeps of each job what lists show."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from millrace.cluster.control import JobControl
from millrace.cluster.documents.checkpoints import CheckpointsDocument
from millrace.cluster.documents.cluster import LogDocument, TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import ThreadDocument
from millrace.cluster.documents.vertices import VertexDocument
from millrace.cluster.history.archives import Archive, delete_archive, list_archives, read_archive
from millrace.cluster.history.retained import EVERYTHING, Retained

__all__ = ["HistoryHolder"]

_log = logging.getLogger(__name__)

_WHOLE = 16
"""how many jobs are kept with all that is known of them"""


class HistoryHolder:
    """Jobs that have ended. They can be looked at, and nothing else."""

    def __init__(
        self,
        directories: Sequence[str],
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        retained: Retained = EVERYTHING,
    ) -> None:
        self._retained = retained
        self._directories = directories
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._looked: float | None = None
        self._known: dict[str, tuple[str, Archive, JobDocument | None]] = {}
        """id -> directory, archive, the job as lists show it; None: it can't be read"""
        self._whole: OrderedDict[Archive, JobDocument] = OrderedDict()

    def jobs(self) -> Sequence[JobDocument]:
        """The newest first."""
        with self._lock:
            self._look()
            jobs = [job for _, _, job in self._known.values() if job is not None]
        return sorted(jobs, key=lambda job: job.ended, reverse=True)

    def job(self, id: str) -> JobDocument | None:
        with self._lock:
            self._look()
            directory, archive, listed = self._known.get(id, ("", None, None))
            if archive is None or listed is None:
                return None
            if archive not in self._whole:
                try:
                    self._whole[archive] = read_archive(directory, archive)
                except (OSError, ValueError) as error:
                    _skip(archive, error)
                    del self._known[id]
                    return None
            self._whole.move_to_end(archive)
            while len(self._whole) > _WHOLE:
                self._whole.popitem(last=False)
            return self._whole[archive]

    def _look(self) -> None:
        """See what is in the directories, if that was not done a moment ago."""
        now = self._clock()
        if self._looked is not None and now - self._looked < self._seconds:
            return
        self._looked = now
        found: dict[str, tuple[str, Archive, JobDocument | None]] = {}
        for directory in self._directories:
            try:
                for archive in list_archives(directory):
                    found[archive.id] = self._entry(directory, archive)
            except OSError as error:
                _log.warning("The archives in %s can't be listed: %s", directory, error)
                found.update({id: entry for id, entry in self._known.items() if entry[0] == directory})
        self._known = found
        self._delete_beyond()

    def _delete_beyond(self) -> None:
        """Delete the archives that are not to be retained; files that are none of ours stay."""
        ours = [(job.ended, id) for id, (_, _, job) in self._known.items() if job is not None]
        for id in self._retained.beyond(ours, time.time_ns() // 1_000_000):
            directory, archive, _ = self._known[id]
            try:
                delete_archive(directory, archive)
                del self._known[id]
            except OSError as error:
                _log.warning("The archive %s can't be deleted: %s", archive.path, error)

    def _entry(self, directory: str, archive: Archive) -> tuple[str, Archive, JobDocument | None]:
        """What is known of an archive already, if it is the same still."""
        known = self._known.get(archive.id)
        if known is not None and known[1] == archive:
            return known
        try:
            return directory, archive, listed(read_archive(directory, archive))
        except (OSError, ValueError) as error:
            _skip(archive, error)
            return directory, archive, None

    def control(self, id: str) -> JobControl | None:
        return None

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        return ()

    def configuration(self) -> Mapping[str, str]:
        return {"historyserver.archive.fs.dir": ",".join(self._directories)}

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return ()

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return None

    def threads(self) -> Sequence[ThreadDocument]:
        return ()

    def dispose_savepoint(self, path: str) -> None:
        raise PermissionError("A history server deletes nothing.")

    def shut_down(self) -> None:
        """Nothing: it has nothing that runs."""


def _skip(archive: Archive, error: Exception) -> None:
    """Told once for each state of the file, since what can't be read is remembered, too."""
    _log.warning("The archive %s is left out: %s", archive.path, error)


def listed(job: JobDocument) -> JobDocument:
    """A job with no more than lists show of it."""
    return replace(
        job,
        vertices=tuple([_listed_vertex(each) for each in job.vertices]),
        checkpoints=CheckpointsDocument(),
        exceptions=(),
        epochs=(),
        accumulators=(),
        metrics=(),
    )


def _listed_vertex(vertex: VertexDocument) -> VertexDocument:
    subtasks = [replace(each, metrics=(), accumulators=()) for each in vertex.subtasks]
    return replace(vertex, operators=(), inputs=(), subtasks=tuple(subtasks), heavy_keys=(), states={})
