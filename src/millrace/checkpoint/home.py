"""Where a job keeps its state while it runs, and what stays of it afterwards."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.storage import FolderStorage
from millrace.common.file_systems import absolute
from millrace.common.job_status import JobStatus
from millrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.runtime.checkpoints import Checkpoints, CheckpointSettings


@dataclass(frozen=True)
class CheckpointPlan:
    """What the environment says about the checkpoints of a job."""

    settings: CheckpointSettings
    directory: str | None = None
    """a path or URI; None: a temporary directory, which ends with the driver"""
    retention: ExternalizedCheckpointRetention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


class JobHome:
    """The folder of a running job. With ``plan`` its checkpoints are there, too.

    :param state_directory: where jobs without durable checkpoints keep their state; None: a temporary directory.
    :param scratch: where temporary directories are made; None: where the system has them.
    """

    def __init__(
        self, job_id: str, plan: CheckpointPlan | None, state_directory: str | None, scratch: str | None = None
    ) -> None:
        self._plan = plan
        self._temporary: str | None = None
        durable = plan.directory if plan is not None else None
        if durable is not None:
            self.folder = open_folder(durable).child(job_id)
        elif state_directory is not None:
            # Absolute, for workers whose working directory is another one.
            self.folder = open_folder(absolute(state_directory)).child(f"job-{job_id}")
        else:
            self._temporary = tempfile.mkdtemp(prefix="millrace-", dir=scratch)
            self.folder = open_folder(self._temporary).child(f"job-{job_id}")
        self.durable = durable is not None
        self.checkpoints = CheckpointDirectory(self.folder)

    @property
    def state(self) -> Folder:
        """Where the tasks write."""
        return self.checkpoints.shared

    def storage(self) -> FolderStorage:
        return self.checkpoints.storage()

    def recorder(self, clock: Callable[[], int]) -> Checkpoints | None:
        """What records the checkpoints, None without."""
        return None if self._plan is None else Checkpoints(self._plan.settings, self.checkpoints, clock)

    def close(self, status: JobStatus) -> None:
        """The job has ended: delete what nobody shall go on from."""
        if not self._keeps(status):
            with contextlib.suppress(OSError):
                self.checkpoints.delete_all()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _keeps(self, status: JobStatus) -> bool:
        """As in Flink: what has finished needs no checkpoint; what failed or was cancelled keeps them if told so."""
        if not self.durable or self._plan is None or status is JobStatus.FINISHED:
            return False
        retention = self._plan.retention
        if status is JobStatus.CANCELED:
            return retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
