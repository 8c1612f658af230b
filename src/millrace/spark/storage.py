"""Task state in files of a directory that all workers reach: one immutable file per task and epoch."""

from __future__ import annotations

import os
import pickle
from typing import Any

from millrace.runtime.pickling import dumps
from millrace.runtime.storage import TaskId


class FileStorage:
    """Versions as files ``<directory>/<stage>-<partition>/<epoch>.delta|.full``, written aside and renamed."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def _path(self, task: TaskId, epoch: int, kind: str) -> str:
        stage, partition = task
        return os.path.join(self.directory, f"{stage}-{partition}", f"{epoch}.{kind}")

    def _write(self, path: str, content: Any) -> int:
        payload = dumps(content)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            file = open(temporary, "wb")  # noqa: SIM115  closed below; the folder is made only when it is missing
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = open(temporary, "wb")  # noqa: SIM115
        with file:
            file.write(payload)
        os.replace(temporary, path)
        return len(payload)

    def write_delta(self, task: TaskId, epoch: int, delta: Any) -> int:
        return self._write(self._path(task, epoch, "delta"), delta)

    def write_full(self, task: TaskId, epoch: int, state: Any) -> int:
        return self._write(self._path(task, epoch, "full"), state)

    def read_delta(self, task: TaskId, epoch: int) -> Any:
        try:
            with open(self._path(task, epoch, "delta"), "rb") as file:
                return pickle.load(file)
        except FileNotFoundError:
            raise KeyError(f"no changes of task {task} in epoch {epoch}") from None

    def read_full(self, task: TaskId, epoch: int) -> Any | None:
        try:
            with open(self._path(task, epoch, "full"), "rb") as file:
                return pickle.load(file)
        except FileNotFoundError:
            return None

    def discard(self, task: TaskId, before: int) -> None:
        stage, partition = task
        folder = os.path.join(self.directory, f"{stage}-{partition}")
        for name in os.listdir(folder):
            number = name.split(".", 1)[0]
            if number.isdigit() and int(number) < before:
                os.unlink(os.path.join(folder, name))
