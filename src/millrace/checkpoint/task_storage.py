"""Files that tasks write into the folder of their job between epochs: state, and results that are too large for
acknowledgements.

    results/<epoch>/<stage>-<partition>-<run>-<number>

Every run of a task has names of its own for its result files, so any number of runs does no harm: the driver reads the
files that the acknowledged run names. The other files are deleted with their epoch, or with the job.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from millrace.checkpoint.folder import Folder, MissingFileError
from millrace.checkpoint.moved import load as load_stored
from millrace.checkpoint.task_file import Load, Section, StateOf, TaskFile, checksum_in, task_file, together
from millrace.runtime.bases.epoch_protocol import Result, ResultFile
from millrace.runtime.coordination.checkpoints import Cleaner
from millrace.runtime.coordination.snapshot import TaskFiles
from millrace.runtime.storage import Past, TaskId, Written, epoch_and_run, first_of_epoch
from millrace.runtime.tasks.member import OperatorDeltas, TaskDelta

# State

ORDERS = "orders"
"""The folder next to the tasks' state for orders that are too large to be sent with every task."""
_NAME = re.compile(r"^(\d+)-(\d+)/(\d+)-\d+\.(?:delta|full)$")


def state_path(task: TaskId, version: int, kind: str) -> str:
    """The path of a version: ``<stage>-<partition>/<epoch>-<run>.delta`` or ``.full``."""
    stage, partition = task
    epoch, run = epoch_and_run(version)
    return f"{stage}-{partition}/{epoch}-{run}.{kind}"


class ChainFile(NamedTuple):
    """A file of a task's state."""

    path: str
    size: int
    """size in bytes"""
    version: int
    checksum: int | None
    """checksum of the file; None: not known"""


def chain_files(task: TaskId, files: TaskFiles) -> list[ChainFile]:
    """The files of a task's state, in the order in which they are applied."""
    named = [
        ChainFile(state_path(task, version, "delta"), size, version, checksum)
        for version, size, checksum in files.since()
    ]
    if files.whole_bytes is not None:
        stored = files.whole if files.stored is None else files.stored
        path = state_path(task, stored, "full")
        named.insert(0, ChainFile(path, files.whole_bytes, stored, files.whole_checksum))
    return named


def state_of(job: str, task: TaskId, version: int) -> StateOf:
    """Identifies the state in the file of a version."""
    return StateOf(job, *task, *epoch_and_run(version))


def chain_sections(
    folder: Folder,
    job: str,
    task: TaskId,
    files: TaskFiles,
    wanted: Callable[[Section], bool],
    load: Load = load_stored,
) -> Iterator[tuple[Section, OperatorDeltas]]:
    """The wanted sections in the files of a task, oldest first.

    :raises CorruptFileError, MissingFileError: a file is damaged or missing.
    """
    for stored in chain_files(task, files):
        path = f"{folder.uri}/{stored.path}"
        try:
            opened = folder.open(stored.path)
        except FileNotFoundError:
            raise MissingFileError(path) from None
        with opened:
            yield from TaskFile(path, opened, state_of(job, task, stored.version), stored.checksum).read(wanted, load)


class _Remembering:
    """Passes on pieces of bytes, and remembers the last one."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.last = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.last = piece
            yield piece


class FolderStorage:
    """A ``StateStorage``: one file per task and version, written once.

    :param key_groups: uid of an operator -> number of its key groups, for writing (``JobGraph.key_groups``).
    :param job: the id of the job whose state it is.
    """

    def __init__(self, folder: Folder, key_groups: Mapping[str, int] = MappingProxyType({}), job: str = "") -> None:
        self._folder = folder
        self._key_groups = key_groups
        self._job = job

    def write_delta(self, task: TaskId, version: int, past: Past, delta: TaskDelta) -> Written:
        of = state_of(self._job, task, version)
        content = task_file([delta], self._key_groups, whole=False, past=past, of=of)
        return self._write(state_path(task, version, "delta"), content)

    def write_full(self, task: TaskId, version: int, pieces: Iterable[TaskDelta]) -> Written:
        of = state_of(self._job, task, version)
        return self._write(state_path(task, version, "full"), task_file(pieces, self._key_groups, whole=True, of=of))

    def _write(self, path: str, content: Iterable[bytes]) -> Written:
        remembering = _Remembering(content)
        size = self._folder.write(path, remembering)
        return Written(size, checksum_in(remembering.last))

    def read_delta(self, task: TaskId, version: int) -> TaskDelta:
        delta: TaskDelta = {}
        for piece in self._pieces(task, version, "delta"):
            for uid, state in piece.items():
                delta[uid] = state if uid not in delta else together(delta[uid], state)
        return delta

    def read_full(self, task: TaskId, version: int) -> Iterator[TaskDelta]:
        return self._pieces(task, version, "full")

    def read_past(self, task: TaskId, version: int) -> Past:
        with self._file(task, version, "delta") as file:
            return file.past()

    def _pieces(self, task: TaskId, version: int, kind: str) -> Iterator[TaskDelta]:
        with self._file(task, version, kind) as file:
            for section, state in file.read(lambda section: True):
                yield {section.uid: state}

    @contextmanager
    def _file(self, task: TaskId, version: int, kind: str) -> Iterator[TaskFile]:
        path = state_path(task, version, kind)
        name = f"{self._folder.uri}/{path}"
        try:
            file = self._folder.open(path)
        except FileNotFoundError:
            raise MissingVersionError(name) from None
        with file:
            yield TaskFile(name, file, state_of(self._job, task, version))

    def discard(self, task: TaskId, before: int) -> None:
        stage, partition = task
        for name in self._folder.files(f"{stage}-{partition}"):
            stored = stored_version(name)
            if stored is not None and first_of_epoch(stored[1]) < before:
                self._folder.delete(name)


class MissingVersionError(MissingFileError, KeyError):
    """A file of a version is missing: it was deleted because it was not needed, or lost."""

    def __str__(self) -> str:
        return str(self.args[0])


def stored_version(path: str) -> tuple[TaskId, int] | None:
    """Task and epoch of a state file; None for any other file."""
    match = _NAME.match(path)
    return ((int(match[1]), int(match[2])), int(match[3])) if match else None


# Results

RESULTS = "results"


class ResultsLostError(Exception):
    """The collected results of a complete epoch can't be read: the job can't continue without a gap."""


class TaskResults:
    """The result files of one run of a task.

    :param run: a different number for each run of the task in this epoch.
    """

    def __init__(self, folder: Folder, epoch: int, task: TaskId, run: int) -> None:
        stage, partition = task
        self._folder = folder
        self._names = (f"{RESULTS}/{epoch}/{stage}-{partition}-{run}-{number}" for number in itertools.count())

    def write(self, parts: Sequence[bytes]) -> ResultFile:
        path = next(self._names)
        self._folder.write(path, parts)
        return ResultFile(path, tuple((len(part), zlib.crc32(part)) for part in parts))


class JobResults:
    """The driver's side of result files. Each file is deleted after it was read."""

    def __init__(self, folder: Folder, cleaner: Cleaner) -> None:
        self._folder = folder
        self._cleaner = cleaner
        self._epochs: list[int] = []
        """epochs that may have left files"""
        self._left_files = False
        """whether any of them has left files"""

    def begin_epoch(self, epoch: int) -> None:
        self._epochs.append(epoch)

    def parts(self, results: Iterable[Result]) -> Iterator[bytes]:
        """The parts of some results, one after the other.

        :raises ResultsLostError: a file is missing or damaged.
        """
        for result in results:
            if isinstance(result, ResultFile):
                self._left_files = True
                yield from self._read(result)
                self._delete(partial(self._folder.delete, result.path), result.path)
            else:
                yield result

    def take(self, results: Iterable[Result]) -> Iterator[bytes]:
        """The parts of an epoch that has ended. Afterwards all files of the epochs begun so far are deleted.

        :raises ResultsLostError: a file is missing or damaged.
        """
        yield from self.parts(results)
        # Runs that were never acknowledged, and failed epochs, may have left files, too.
        if self._left_files or len(self._epochs) > 1:
            for epoch in self._epochs:
                path = f"{RESULTS}/{epoch}"
                self._delete(partial(self._folder.delete_tree, path), path)
        self._epochs.clear()
        self._left_files = False

    def close(self) -> None:
        """Delete the remaining files; nothing is taken any more."""
        self._folder.delete_tree(RESULTS)

    def _read(self, result: ResultFile) -> Iterator[bytes]:
        file = f"what a task has collected in {self._folder.uri}/{result.path}"
        try:
            with self._folder.open(result.path) as stored:
                begin = 0
                for length, checksum in result.parts:
                    part = bytes(stored.read(begin, length))
                    if len(part) != length or zlib.crc32(part) != checksum:
                        raise ResultsLostError(f"{file} is damaged")
                    begin += length
                    yield part
        except OSError as error:
            raise ResultsLostError(f"{file} can't be read: {error}") from error

    def _delete(self, delete: partial[None], path: str) -> None:
        self._cleaner.submit(f"{self._folder.uri}/{path}", delete)
