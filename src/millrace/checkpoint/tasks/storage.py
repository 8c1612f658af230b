"""The state of tasks between epochs, as files of a folder that all workers reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from millrace.checkpoint.files.errors import MissingFileError
from millrace.checkpoint.files.folder import Folder
from millrace.checkpoint.tasks.task_file import TaskFile, task_file, together
from millrace.runtime.coordination.chains import TaskFiles
from millrace.runtime.storage import TaskId
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


def chain_files(task: TaskId, files: TaskFiles) -> list[tuple[str, int]]:
    """The files that a task's state consists of, in the order in which they are applied, with their sizes."""
    named = [(state_path(task, version, "delta"), size) for version, size in files.since()]
    if files.whole_bytes is not None:
        named.insert(0, (state_path(task, files.whole, "full"), files.whole_bytes))
    return named


class FolderStorage:
    """A ``StateStorage``: one file per task and version, written once.

    :param key_groups: uid of an operator -> number of its key groups, for who writes (``JobGraph.key_groups``).
    """

    def __init__(self, folder: Folder, key_groups: Mapping[str, int] = MappingProxyType({})) -> None:
        self._folder = folder
        self._key_groups = key_groups

    def write_delta(self, task: TaskId, version: int, past: Past, delta: TaskDelta) -> int:
        content = task_file([delta], self._key_groups, whole=False, past=past)
        return self._folder.write(state_path(task, version, "delta"), content)

    def write_full(self, task: TaskId, version: int, pieces: Iterable[TaskDelta]) -> int:
        return self._folder.write(state_path(task, version, "full"), task_file(pieces, self._key_groups, whole=True))

    def read_delta(self, task: TaskId, version: int) -> TaskDelta:
        delta: TaskDelta = {}
        for piece in self._pieces(state_path(task, version, "delta")):
            for uid, state in piece.items():
                delta[uid] = state if uid not in delta else together(delta[uid], state)
        return delta

    def read_full(self, task: TaskId, version: int) -> Iterator[TaskDelta]:
        return self._pieces(state_path(task, version, "full"))

    def read_past(self, task: TaskId, version: int) -> Past:
        with self._file(state_path(task, version, "delta")) as file:
            return file.past()

    def _pieces(self, path: str) -> Iterator[TaskDelta]:
        with self._file(path) as file:
            for section, state in file.read(lambda section: True):
                yield {section.uid: state}

    @contextmanager
    def _file(self, path: str) -> Iterator[TaskFile]:
        name = f"{self._folder.uri}/{path}"
        try:
            file = self._folder.open(path)
        except FileNotFoundError:
            raise MissingVersionError(name) from None
        with file:
            yield TaskFile(name, file)

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
