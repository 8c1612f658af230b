"""The directory of one job's checkpoints, the folder of a running job, and whether a checkpoint may be unpickled.

A checkpoint is in ``chk-<number>/_metadata``; the state of the job's tasks is below ``shared/``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from millrace.checkpoint.folder import (
    CorruptFileError,
    Folder,
    LocalFolder,
    MissingFileError,
    SnapshotError,
    open_folder,
)
from millrace.checkpoint.metadata import (
    CHECKPOINT,
    METADATA,
    Metadata,
    checkpoint_metadata,
    read_metadata,
    write_metadata,
)
from millrace.checkpoint.shared_folder import Heartbeat, left_alone
from millrace.checkpoint.task_storage import ORDERS, FolderStorage, chain_files, stored_version
from millrace.common.files.file_systems import absolute
from millrace.common.jobs import JobStatus
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.runtime.coordination.checkpoints import Checkpoints, CheckpointSettings, Cleaner, RetainedCheckpoint
from millrace.runtime.coordination.snapshot import JobSnapshot, TaskFiles
from millrace.runtime.storage import TaskId
from millrace.util.folders import check_file, check_shared, make_shared, new_folder

logger = logging.getLogger(__name__)

SHARED = "shared"
RESERVED = "epochs"
"""The file with the number from which the epochs of the last driver, or of its last attempt, are numbered."""
_NUMBERED = re.compile(r"/chk-(\d+)/?$")
_CHECKPOINT = re.compile(r"^chk-(\d+)/" + METADATA + "$")


UNUSABLE = "_unusable"
"""A file in the folder of a checkpoint that could not be restored: it contains the reason, and marks the checkpoint as
unusable."""


class Listing:
    """All files of a job at one moment, with their sizes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.checkpoints = sorted(int(match[1]) for path in sizes if (match := _CHECKPOINT.match(path)))
        """ids of all existing checkpoints, oldest first"""
        self.usable = [number for number in self.checkpoints if f"chk-{number}/{UNUSABLE}" not in sizes]
        """ids of the checkpoints that are not marked as unusable, oldest first"""

    def state(self) -> dict[str, int]:
        """Path below ``shared`` -> size in bytes, for the files of the tasks."""
        prefix = f"{SHARED}/"
        return {path[len(prefix) :]: size for path, size in self.sizes.items() if path.startswith(prefix)}


class CheckpointDirectory:
    """A ``CheckpointStore``: the checkpoints of one job below ``folder``.

    :param durable: whether checkpoints must survive a loss of power.
    :param job: the job's id, which state files record.
    """

    def __init__(self, folder: Folder, durable: bool = True, job: str = "") -> None:
        self.folder = folder
        self._job = job
        self.shared = folder.child(SHARED)
        self._durable = durable
        self._persisted: dict[TaskId, TaskFiles] = {}
        """task -> its files that are known to survive a loss of power"""

    def storage(self, key_groups: Mapping[str, int] = MappingProxyType({})) -> FolderStorage:
        """The storage for the tasks' state."""
        return FolderStorage(self.shared, key_groups, self._job)

    def write(self, snapshot: JobSnapshot) -> str:
        place = self.folder.child(f"chk-{snapshot.epoch}")
        metadata = checkpoint_metadata(snapshot)
        if self._durable:
            before, tasks = self._persisted, metadata.tasks
            new = {task: files.beyond(before.get(task, TaskFiles())) for task, files in tasks.items()}
            self.shared.persist({file.path for task, files in new.items() for file in chain_files(task, files)})
            self._persisted = dict(tasks)
        write_metadata(place, metadata)
        if self._durable:
            self.folder.persist([f"chk-{snapshot.epoch}/{METADATA}"])
        return place.uri

    def reserve(self, epoch: int) -> None:
        self.folder.write(RESERVED, [str(epoch).encode()])

    def delete(self, checkpoint_id: int) -> None:
        self.folder.delete_tree(f"chk-{checkpoint_id}")

    def listing(self) -> Listing:
        return Listing(self.folder.sizes())

    def numbers(self) -> list[int]:
        """The ids of the usable checkpoints, oldest first."""
        return self.listing().usable

    def newest(self, listing: Listing) -> tuple[int, Metadata, dict[int, SnapshotError]]:
        """The id and metadata of the newest complete checkpoint, and what is wrong with those after it.

        :raises SnapshotError: no checkpoint is complete; the text is about the newest one.
        """
        damaged: dict[int, SnapshotError] = {}
        state = listing.state()
        for number in reversed(listing.usable):
            try:
                metadata = self.read(number)
                check_sizes(self.shared.uri, metadata, state)
                return number, metadata, damaged
            except (CorruptFileError, MissingFileError) as error:
                damaged[number] = error
        raise next(iter(damaged.values()))

    def set_aside(self, checkpoint_id: int, why: SnapshotError) -> None:
        """Mark a damaged checkpoint as unusable; its files stay for inspection."""
        self.folder.write(f"chk-{checkpoint_id}/{UNUSABLE}", [str(why).encode()])

    def read(self, checkpoint_id: int) -> Metadata:
        return read_checkpoint(self.folder.child(f"chk-{checkpoint_id}"))

    def snapshots(self) -> list[JobSnapshot]:
        """The job snapshots in the existing checkpoints.

        :raises SnapshotError: a checkpoint can't be read.
        """
        return [self.read(number).snapshot() for number in self.listing().usable]

    def kept(self, listing: Listing | None = None, until: int | None = None) -> list[RetainedCheckpoint]:
        """The existing checkpoints and the files that they need, oldest first.

        :param until: id of the last checkpoint to include.
        """
        numbers = (listing or self.listing()).usable
        return [
            RetainedCheckpoint(number, self._firsts(number)) for number in numbers if until is None or number <= until
        ]

    def _firsts(self, number: int) -> dict[TaskId, int]:
        try:
            return {task: files.first for task, files in self.read(number).tasks.items()}
        except CorruptFileError:
            # It can't be restored. A user who names this checkpoint gets the error when reading it.
            logger.warning("checkpoint %d in %s is of no use", number, self.folder.uri, exc_info=True)
            return {}

    def unused_epoch(self, listing: Listing | None = None) -> int:
        """An epoch number that no earlier driver has used.

        The tasks of a dead driver may still run an epoch, at most one after the last that left a trace: state, a
        checkpoint, or a reservation.
        """
        listing = listing or self.listing()
        known = [version[1] for path in listing.state() if (version := stored_version(path)) is not None]
        try:
            known.append(int(bytes(self.folder.read(RESERVED))))
        except FileNotFoundError:
            pass  # the first driver makes one when something fails
        return max([0, *known, *listing.checkpoints]) + 2

    def drop_unneeded(self, kept: Sequence[RetainedCheckpoint]) -> None:
        """Delete what none of these checkpoints, oldest first, needs: state of epochs that were never part of a
        checkpoint before a driver died, files that it would have deleted next, and its orders."""
        last = kept[-1].checkpoint_id if kept else 0
        firsts: dict[TaskId, int] = {}
        wholes = {item for checkpoint in kept for item in checkpoint.firsts.items()}
        for task, first in wholes:
            firsts[task] = min(first, firsts.get(task, first))
        try:
            for path in self.shared.files():
                version = stored_version(path)
                if version is None and path.startswith(f"{ORDERS}/"):
                    self.shared.delete(path)
                if version is None:
                    continue
                # Also a whole state that was made from files, if its driver died before a checkpoint named it.
                unnamed = path.endswith(".full") and version not in wholes
                if unnamed or not firsts.get(version[0], last + 1) <= version[1] <= last:
                    self.shared.delete(path)
        except OSError:
            logger.warning("what nobody needs could not be deleted from %s", self.shared.uri, exc_info=True)

    def delete_all(self) -> None:
        """Delete everything, because the job has ended and retains nothing."""
        self.folder.delete_tree()


def read_checkpoint(folder: Folder) -> Metadata:
    """The metadata in the folder of a checkpoint or savepoint.

    :raises SnapshotError: there is none, it is damaged, or it belongs to another checkpoint than the folder.
    """
    metadata = read_metadata(folder)
    named = _NUMBERED.search(folder.uri)
    if metadata.kind == CHECKPOINT and named is not None and int(named[1]) != metadata.id:
        path = f"{folder.uri}/{METADATA}"
        raise CorruptFileError(path, f"another file is in its place: that of checkpoint {metadata.id}")
    return metadata


def state_files(metadata: Metadata) -> list[tuple[str, int]]:
    """(path below ``shared``, size in bytes) of the files of a checkpoint."""
    chains = (file for task, files in metadata.tasks.items() for file in chain_files(task, files))
    return [(file.path, file.size) for file in chains]


def check_sizes(uri: str, metadata: Metadata, sizes: Mapping[str, int]) -> None:
    """Check that all files of a checkpoint or savepoint exist with their recorded sizes. Readers check the checksums.

    :param uri: the folder to which the paths are relative: a savepoint's own, or ``shared`` of a job's checkpoints.
    :param sizes: path -> size in bytes of the existing files.
    :raises SnapshotError: a file is missing or has another size; the text names the first one.
    """
    files = state_files(metadata)
    files += [(file.path, file.size) for saved in metadata.saved.values() for file in saved.files]
    for path, expected in files:
        size = sizes.get(path)
        if size is None:
            raise MissingFileError(f"{uri}/{path}")
        if size != expected:
            raise CorruptFileError(f"{uri}/{path}", f"it has {size} bytes instead of {expected}")


# The home of a running job


@dataclass(frozen=True)
class CheckpointPlan:
    """The checkpoint settings of the environment."""

    settings: CheckpointSettings
    directory: str | None = None
    """a path or URI; None: a temporary directory, which is deleted with the driver"""
    retention: ExternalizedCheckpointRetention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


class JobHome:
    """The folder of a running job. With ``plan`` its checkpoints are in it, too.

    :param state_directory: where jobs without durable checkpoints store their state; None: a temporary directory.
    :param scratch: where temporary directories are made; None: the system's directory for them.
    :param trust_directory: whether all who can write to the directories may be trusted; else the folder is this user's
        alone.
    :raises NotPrivateError: the folder exists, and other users could have written to it.
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
            # An absolute path, because workers may have another working directory.
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
        """Let other processes see that this process drives the job, until ``close`` or ``fall_silent``; delete the
        folders of dead drivers next to it."""
        if self._temporary is not None:
            return  # nobody else looks for it there
        self._heartbeat = Heartbeat(self.folder)
        self._heartbeat.start()
        if not self.durable:
            _sweep(self.folder.uri)

    def fall_silent(self) -> None:
        """Stop driving the job in this process, without knowing whether the job is over."""
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat is not None:
            heartbeat.stop()

    @property
    def state(self) -> Folder:
        """The folder for the tasks' files."""
        return self.checkpoints.shared

    def storage(self) -> FolderStorage:
        return self.checkpoints.storage()

    def recorder(self, clock: Callable[[], int], cleaner: Cleaner | None = None) -> Checkpoints | None:
        """The recorder of checkpoints; None: the job has no checkpoints."""
        return None if self._plan is None else Checkpoints(self._plan.settings, self.checkpoints, clock, cleaner)

    def retained_after(self, status: JobStatus) -> list[JobSnapshot]:
        """The checkpoints that are retained if the job ends with this status."""
        return self.checkpoints.snapshots() if self._keeps(status) else []

    def close(self, status: JobStatus) -> None:
        """The job has ended: delete everything that can't be restored from."""
        self.fall_silent()
        with contextlib.suppress(OSError):
            if self._keeps(status):
                self.folder.sweep()
            else:
                self.checkpoints.delete_all()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _keeps(self, status: JobStatus) -> bool:
        """As in Flink: a finished job needs no checkpoint; a failed or cancelled one retains them if it is configured
        so."""
        if not self.durable or self._plan is None or status is JobStatus.FINISHED:
            return False
        retention = self._plan.retention
        if status is JobStatus.CANCELED:
            return retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


def _sweep(own: str) -> None:
    """Delete the folders of jobs whose drivers are dead, next to one of a job: no job can be restored from them."""
    parent = os.path.dirname(own)
    if not os.path.isdir(parent):
        return  # another kind of file system, of which nobody knows how to list directories
    others = [each.path for each in os.scandir(parent) if each.name.startswith("job-") and each.path != own]
    for folder in left_alone(map(open_folder, others)):
        folder.delete_tree()


# Trust


def check_trusted(folder: Folder, base: Folder, metadata: Metadata) -> None:
    """Check that no other user can have written a checkpoint or savepoint. Permissions of remote file systems can't be
    checked here, so their files are trusted.

    :param base: the folder to which the paths of its files are relative.
    :raises NotPrivateError: another user owns it or may write to it.
    """
    if not isinstance(folder, LocalFolder):
        return
    check_shared(folder.uri)
    check_file(f"{folder.uri}/{METADATA}")
    paths = [path for path, _ in state_files(metadata)]
    paths += [file.path for saved in metadata.saved.values() for file in saved.files]
    if paths and base.uri != folder.uri:
        check_shared(base.uri)
    for path in paths:
        check_file(f"{base.uri}/{path}")
