"""Archives of jobs that have ended, on any file system, and the history server's view of them.

An archive is one file: a ``JobDocument`` as JSON. The history server polls its directories, keeps a short form of each
job for lists, and reads the whole document when it is asked for.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyarrow import fs

from millrace.cluster.control import JobControl
from millrace.cluster.documents import (
    CheckpointsDocument,
    JobDocument,
    LogDocument,
    TaskManagerDocument,
    ThreadDocument,
    VertexDocument,
    masked,
)
from millrace.cluster.durable_files import decode, encode
from millrace.common.configuration import to_duration, to_int
from millrace.common.files.file_systems import locate
from millrace.common.files.object_stores import is_local, makes_folders

# Archives

SUFFIX = ".json"
LARGEST = 256 * 1024 * 1024
"""Largest archive that is read, in bytes; a larger file was not written by Millrace."""

_ID = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True)
class Archive:
    """A file with the name of an archive; its content has not been read."""

    id: str
    path: str
    size: int
    modified: int | None
    """time of the file's last change (ns); None if the file system does not say"""


def write_archive(directory: str, job: JobDocument) -> str:
    """Archive a job atomically; replaces an archive of the same job.

    :returns: its path.
    """
    if not _ID.match(job.id):
        raise ValueError(f"{job.id!r} is no id of a job.")
    place = locate(directory)
    files, path = place.file_system(), f"{place.path.rstrip('/')}/{job.id}{SUFFIX}"
    hidden = f"{place.path.rstrip('/')}/.{job.id}.{uuid.uuid4().hex}"
    if is_local(files):
        _write_locally(hidden, encode(masked(job)))
        os.replace(hidden, path)
    else:
        if not makes_folders(files):
            files.create_dir(place.path, recursive=True)
        with files.open_output_stream(hidden) as stream:
            stream.write(encode(masked(job)))
        files.move(hidden, path)
    return path


def _write_locally(path: str, text: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def list_archives(directory: str) -> Iterator[Archive]:
    """All files of a directory that have the name of an archive; none without the directory."""
    place = locate(directory)
    files = place.file_system()
    selector = fs.FileSelector(place.path, allow_not_found=True)
    for info in files.get_file_info(selector):
        id = info.base_name.removesuffix(SUFFIX)
        if info.type != fs.FileType.File or not info.base_name.endswith(SUFFIX) or not _ID.match(id):
            continue
        if is_local(files) and os.path.islink(info.path):
            continue
        yield Archive(id, info.path, info.size, info.mtime_ns)


def delete_archive(directory: str, archive: Archive) -> None:
    """Delete an archive.

    :raises OSError: that is not possible.
    """
    locate(directory).file_system().delete_file(archive.path)


def read_archive(directory: str, archive: Archive) -> JobDocument:
    """The job of an archive.

    :raises ValueError: it is no archive of that job.
    :raises OSError: it can't be read.
    """
    if archive.size > LARGEST:
        raise ValueError(f"it has {archive.size} bytes, more than {LARGEST}")
    with locate(directory).file_system().open_input_stream(archive.path) as stream:
        job = decode(stream.read(), JobDocument)
    if job.id != archive.id:
        raise ValueError(f"it is of job {job.id[:40]}")
    return job


# How many archives are kept

_JOBS, _AGE = "historyserver.archive.retained-jobs", "historyserver.archive.retained-ttl"


@dataclass(frozen=True)
class Retained:
    """How many archives are retained, and for how long; None: no limit."""

    jobs: int | None = None
    millis: int | None = None

    def beyond(self, jobs: Iterable[tuple[int, str]], now: int) -> list[str]:
        """The ids of jobs beyond the limits, whose archives are to be deleted.

        :param jobs: when they ended (ms since the epoch), and their ids.
        """
        newest = sorted(jobs, reverse=True)
        return [
            id
            for rank, (ended, id) in enumerate(newest)
            if (self.jobs is not None and rank >= self.jobs) or (self.millis is not None and now - ended > self.millis)
        ]


EVERYTHING = Retained()


def retained(options: Mapping[str, str]) -> Retained:
    """The retention that a configuration sets; by default all archives are retained.

    :raises ValueError: it says nonsense.
    """
    jobs = to_int(options.get(_JOBS, "-1"))
    if jobs == 0 or jobs < -1:
        raise ValueError(f"{_JOBS} is the number of jobs to keep, or -1 for all of them, not {jobs}")
    age = to_duration(options[_AGE]).to_millis() if _AGE in options else None
    if age is not None and age <= 0:
        raise ValueError(f"{_AGE} is how long archives are kept, more than {options[_AGE]}")
    return Retained(None if jobs == -1 else jobs, age)


# The history server

_log = logging.getLogger(__name__)

_WHOLE = 16
"""Number of jobs whose whole documents stay in memory."""


class HistoryHolder:
    """A ``JobHolder`` of archived jobs: they can be looked at, but not steered."""

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
        """id -> directory, archive, and the job in its short form; None: the archive can't be read"""
        self._whole: OrderedDict[Archive, JobDocument] = OrderedDict()

    def jobs(self) -> Sequence[JobDocument]:
        """All archived jobs, the newest first."""
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
        """List the directories again, unless that was done a moment ago."""
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
        """Delete the archives beyond the retention; files that are not archives stay."""
        ours = [(job.ended, id) for id, (_, _, job) in self._known.items() if job is not None]
        for id in self._retained.beyond(ours, time.time_ns() // 1_000_000):
            directory, archive, _ = self._known[id]
            try:
                delete_archive(directory, archive)
                del self._known[id]
            except OSError as error:
                _log.warning("The archive %s can't be deleted: %s", archive.path, error)

    def _entry(self, directory: str, archive: Archive) -> tuple[str, Archive, JobDocument | None]:
        """The entry of an archive: the known one while the file is unchanged, else read from the file."""
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
        """Does nothing: a history server runs no jobs."""


def _skip(archive: Archive, error: Exception) -> None:
    """Log an archive that can't be read. The entry is remembered, so each version of a file is logged once."""
    _log.warning("The archive %s is left out: %s", archive.path, error)


def listed(job: JobDocument) -> JobDocument:
    """The short form of a job: only what lists show."""
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
