"""The state of tasks between epochs, as files of a folder that all workers reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from millrace.checkpoint.errors import MissingFileError
from millrace.checkpoint.folder import Folder
from millrace.checkpoint.task_file import read_task_file, task_file
from millrace.runtime.member import TaskDelta
from millrace.runtime.storage import TaskId

_NAME = re.compile(r"^(\d+)-(\d+)/(\d+)\.(?:delta|full)$")


def state_path(task: TaskId, epoch: int, kind: str) -> str:
    """The path of a version: ``<stage>-<partition>/<epoch>.delta`` or ``.full``."""
    stage, partition = task
    return f"{stage}-{partition}/{epoch}.{kind}"


class FolderStorage:
    """A ``StateStorage``: one file per task and epoch, written once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def write_delta(self, task: TaskId, epoch: int, delta: TaskDelta) -> int:
        return self._folder.write(state_path(task, epoch, "delta"), task_file([delta]))

    def write_full(self, task: TaskId, epoch: int, pieces: Iterable[TaskDelta]) -> int:
        return self._folder.write(state_path(task, epoch, "full"), task_file(pieces))

    def read_delta(self, task: TaskId, epoch: int) -> TaskDelta:
        path = state_path(task, epoch, "delta")
        try:
            content = self._folder.read(path)
        except FileNotFoundError:
            raise MissingVersionError(f"{self._folder.uri}/{path}") from None
        delta: TaskDelta = {}
        for section in self._sections(path, content):
            delta.update(section)
        return delta

    def read_full(self, task: TaskId, epoch: int) -> Iterator[TaskDelta] | None:
        path = state_path(task, epoch, "full")
        try:
            content = self._folder.read(path)
        except FileNotFoundError:
            return None
        return self._sections(path, content)

    def _sections(self, path: str, content: Any) -> Iterator[TaskDelta]:
        return read_task_file(f"{self._folder.uri}/{path}", content)

    def discard(self, task: TaskId, before: int) -> None:
        stage, partition = task
        for name in self._folder.files(f"{stage}-{partition}"):
            if (epoch := epoch_of(name)) is not None and epoch < before:
                self._folder.delete(name)


class MissingVersionError(MissingFileError, KeyError):
    """A file with the changes of an epoch is not there: deleted because nobody needs it, or lost."""

    def __str__(self) -> str:
        return str(self.args[0])


def epoch_of(path: str) -> int | None:
    """The epoch of a state file; None for any other file."""
    match = _NAME.match(path)
    return int(match.group(3)) if match else None
