"""Where a job keeps its state while it runs, and what stays of it afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.files.alive import Heartbeat, left_alone
from millrace.checkpoint.files.folder import Folder, LocalFolder, open_folder
from millrace.checkpoint.tasks.storage import FolderStorage
from millrace.common.files.file_systems import absolute
from millrace.common.jobs.job_status import JobStatus
from millrace.common.state.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.runtime.coordination.checkpoints import Checkpoints, CheckpointSettings
from millrace.runtime.coordination.cleaning import Cleaner
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.util.passing_folder import new_folder
from millrace.util.private_folder import make_shared


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
    :param trust_directory: whether all who can write to the directories may be trusted; else the folder is this user's
        alone.
    :raises NotPrivateError: it is there, and others could have written to it.
    """

    def __init__(
        self,
        job_id: str,
        plan: CheckpointPlan | None,
        state_directory: str | None,
        scratch: str | None = None,
        trust_directory: bool = False,
    ) -> None:
        self._plan = plan
        self._temporary: str | None = None
        durable = plan.directory if plan is not None else None
        if durable is not None:
            self.folder = open_folder(absolute(durable)).child(job_id)
        elif state_directory is not None:
            # Absolute, for workers whose working directory is another one.
            self.folder = open_folder(absolute(state_directory)).child(f"job-{job_id}")
        else:
            self._temporary = new_folder("state", scratch)
            self.folder = open_folder(self._temporary).child(f"job-{job_id}")
        if isinstance(self.folder, LocalFolder):
            make_shared(self.folder.uri, trust_directory)
        self.durable = durable is not None
        self.checkpoints = CheckpointDirectory(self.folder, self.durable, job_id)
        self._heartbeat: Heartbeat | None = None

    def announce(self) -> None:
        """From now on others can see that this process drives the job, until ``close`` or ``fall_silent``. What dead
        drivers have left beside it goes."""
        if self._temporary is not None:
            return  # nobody else looks for it there
        self._heartbeat = Heartbeat(self.folder)
        self._heartbeat.start()
        if not self.durable:
            _sweep(self.folder.uri)

    def fall_silent(self) -> None:
        """This process drives the job no more, and does not know whether it is over."""
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat is not None:
            heartbeat.stop()

    @property
    def state(self) -> Folder:
        """Where the tasks write."""
        return self.checkpoints.shared

    def storage(self) -> FolderStorage:
        return self.checkpoints.storage()

    def recorder(self, clock: Callable[[], int], cleaner: Cleaner | None = None) -> Checkpoints | None:
        """What records the checkpoints, None without."""
        return None if self._plan is None else Checkpoints(self._plan.settings, self.checkpoints, clock, cleaner)

    def kept_after(self, status: JobStatus) -> list[JobSnapshot]:
        """The checkpoints that stay when the job has ended so."""
        return self.checkpoints.snapshots() if self._keeps(status) else []

    def close(self, status: JobStatus) -> None:
        """The job has ended: delete what is not to be gone on from."""
        self.fall_silent()
        with contextlib.suppress(OSError):
            if self._keeps(status):
                self.folder.sweep()
            else:
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


def _sweep(own: str) -> None:
    """Delete the folders of jobs whose drivers have died, beside one of a job: no job goes on from what is in them."""
    parent = os.path.dirname(own)
    if not os.path.isdir(parent):
        return  # another kind of file system, of which nobody knows how to list directories
    others = [each.path for each in os.scandir(parent) if each.name.startswith("job-") and each.path != own]
    for folder in left_alone(map(open_folder, others)):
        folder.delete_tree()
