"""The state of tasks between epochs, as files of a folder that all workers reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from millrace.checkpoint.files.errors import MissingFileError
from millrace.checkpoint.files.folder import Folder
from millrace.checkpoint.tasks.task_file import StateOf, TaskFile, checksum_in, task_file, together
from millrace.runtime.coordination.chains import TaskFiles
from millrace.runtime.storage import TaskId, Written
from millrace.runtime.tasks.member import TaskDelta
from millrace.runtime.versions import Past, epoch_and_run, first_of_epoch

ORDERS = "orders"
"""The folder beside the tasks' state with orders that are too large to travel with every task."""
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
    """bytes"""
    version: int
    checksum: int | None
    """None: it is not known"""


def chain_files(task: TaskId, files: TaskFiles) -> list[ChainFile]:
    """The files that a task's state consists of, in the order in which they are applied."""
    named = [
        ChainFile(state_path(task, version, "delta"), size, version, checksum)
        for version, size, checksum in files.since()
    ]
    if files.whole_bytes is not None:
        path = state_path(task, files.whole, "full")
        named.insert(0, ChainFile(path, files.whole_bytes, files.whole, files.whole_checksum))
    return named


def state_of(job: str, task: TaskId, version: int) -> StateOf:
    """Whose state the file of a version is."""
    return StateOf(job, *task, *epoch_and_run(version))


class _Remembering:
    """Pieces of bytes, of which the last one is known when they have been taken."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.last = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.last = piece
            yield piece


class FolderStorage:
    """A ``StateStorage``: one file per task and version, written once.

    :param key_groups: uid of an operator -> number of its key groups, for who writes (``JobGraph.key_groups``).
    :param job: the id of the job whose state it is.
    """

    def __init__(
        self, folder: Folder, key_groups: Mapping[str, int] = MappingProxyType({}), job: str = ""
    ) -> None:
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
    """A file of a version is not there: deleted because it was not needed, or lost."""

    def __str__(self) -> str:
        return str(self.args[0])


def stored_version(path: str) -> tuple[TaskId, int] | None:
    """Task and epoch of a state file; None for any other file."""
    match = _NAME.match(path)
    return ((int(match[1]), int(match[2])), int(match[3])) if match else None
