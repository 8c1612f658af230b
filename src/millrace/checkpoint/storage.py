"""The state of tasks between epochs, as files of a folder that all workers reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from millrace.checkpoint.errors import MissingFileError
from millrace.checkpoint.folder import Folder
from millrace.checkpoint.task_file import read_task_file, task_file
from millrace.runtime.chains import TaskChain
from millrace.runtime.member import TaskDelta
from millrace.runtime.storage import TaskId
from millrace.runtime.versions import epoch_and_run, first_of_epoch, versions_of

_NAME = re.compile(r"^(\d+)-(\d+)/(\d+)-\d+\.(?:delta|full)$")


def state_path(task: TaskId, version: int, kind: str) -> str:
    """The path of a version: ``<stage>-<partition>/<epoch>-<run>.delta`` or ``.full``."""
    stage, partition = task
    epoch, run = epoch_and_run(version)
    return f"{stage}-{partition}/{epoch}-{run}.{kind}"


def chain_files(task: TaskId, chain: TaskChain, history: Sequence[int]) -> list[tuple[str, int]]:
    """The files that a task's state consists of, in the order in which they are applied, with their sizes."""
    whole, *changes = versions_of(history, chain.runs)
    files = [(state_path(task, version, "delta"), size) for version, size in zip(changes, chain.delta_bytes)]
    if chain.full_bytes is not None:
        files.insert(0, (state_path(task, whole, "full"), chain.full_bytes))
    return files


class FolderStorage:
    """A ``StateStorage``: one file per task and version, written once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def write_delta(self, task: TaskId, version: int, delta: TaskDelta) -> int:
        return self._folder.write(state_path(task, version, "delta"), task_file([delta]))

    def write_full(self, task: TaskId, version: int, pieces: Iterable[TaskDelta]) -> int:
        return self._folder.write(state_path(task, version, "full"), task_file(pieces))

    def read_delta(self, task: TaskId, version: int) -> TaskDelta:
        delta: TaskDelta = {}
        for section in self._sections(state_path(task, version, "delta")):
            delta.update(section)
        return delta

    def read_full(self, task: TaskId, version: int) -> Iterator[TaskDelta]:
        return self._sections(state_path(task, version, "full"))

    def _sections(self, path: str) -> Iterator[TaskDelta]:
        try:
            content = self._folder.read(path)
        except FileNotFoundError:
            raise MissingVersionError(f"{self._folder.uri}/{path}") from None
        return read_task_file(f"{self._folder.uri}/{path}", content)

    def discard(self, task: TaskId, before: int) -> None:
        stage, partition = task
        for name in self._folder.files(f"{stage}-{partition}"):
            stored = stored_version(name)
            if stored is not None and first_of_epoch(stored[1]) < before:
                self._folder.delete(name)


class MissingVersionError(MissingFileError, KeyError):
    """A file of a version is not there: deleted because nobody needs it, or lost."""

    def __str__(self) -> str:
        return str(self.args[0])


def stored_version(path: str) -> tuple[TaskId, int] | None:
    """Task and epoch of a state file; None for any other file."""
    match = _NAME.match(path)
    return ((int(match[1]), int(match[2])), int(match[3])) if match else None
