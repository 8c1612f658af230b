"""The configuration of state on disk for a job."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from millrace.common.state.storage import ROWS_MEMORY
from millrace.runtime.state.disk.job_folder import delete_job_folder, job_folder
from millrace.runtime.state.disk.local_folder import local_folders, warn_of_memory
from millrace.runtime.state.disk.state import DiskState
from millrace.runtime.state.disk.task_directory import TaskDirectory
from millrace.runtime.state.working import Piece, WorkingState
from millrace.runtime.storage import TaskId


def require_store() -> None:
    """Raises ``RuntimeError`` where the package that stores the state is missing."""
    if find_spec("lmdb") is None:
        raise RuntimeError(
            "keyed state on disk needs the package lmdb, which is not installed here: pip install "
            "'millrace-streaming[disk]', on the workers, too, or keep state in memory (HashMapStateBackend)"
        )


@dataclass(frozen=True)
class OnDisk:
    """State on local disks.

    :param paths: directories, among which the tasks are divided; empty: those of ``local_folders``.
    :param rows_memory: the bytes of SQL's rows that a process may have in memory, beside those that have changed.
    """

    in_memory: ClassVar[bool] = False
    paths: tuple[str, ...] = ()
    rows_memory: int = ROWS_MEMORY

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        require_store()
        stage, partition = task
        roots = self._roots()
        folder = job_folder(roots[partition % len(roots)], job_id)
        return DiskState(TaskDirectory(os.path.join(folder, f"{stage}-{partition}")), small, self.rows_memory)

    def discard(self, job_id: str) -> None:
        for root in self._roots():
            delete_job_folder(root, job_id)

    def warn_of_memory(self) -> None:
        """Log a warning if the directories are in memory."""
        warn_of_memory(self._roots())

    def _roots(self) -> tuple[str, ...]:
        return self.paths or local_folders()
