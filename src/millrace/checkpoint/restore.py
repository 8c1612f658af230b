"""What a job begins with: a checkpoint of its own that it goes on from, or one of another job, or a savepoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millrace.checkpoint.compare import Comparison, compare, compare_states
from millrace.checkpoint.directory import SHARED, CheckpointDirectory, check_files
from millrace.checkpoint.errors import SnapshotError
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.metadata import CHECKPOINT, Metadata, read_metadata
from millrace.common.file_systems import absolute
from millrace.runtime.coordinator import Coordinator
from millrace.runtime.epoch import EpochOrder
from millrace.runtime.state.info import StateInfo
from millrace.runtime.versions import first_of_epoch


@dataclass(frozen=True)
class Restore:
    """A checkpoint or savepoint that a job begins with."""

    uri: str
    coordinator: Coordinator
    metadata: Metadata
    comparison: Comparison
    order: EpochOrder | None
    """lets the tasks take over their state; None: they go on from their own files"""
    claimed: bool = False
    """whether the files belong to the job now"""

    def compare_states(self, asked: Mapping[str, Sequence[StateInfo]]) -> Comparison:
        """With the states that the functions have asked for. Raises ``RestoreError``."""
        return compare_states(self.coordinator.job, self.metadata, asked, self.comparison)

    def release(self) -> None:
        """The job has a checkpoint of its own: what it has claimed and does not need any more is deleted."""
        if self.claimed and self.order is not None:
            dispose(self.uri)


def restore_from(path: str, coordinator: Coordinator, allow_non_restored: bool, claim: bool) -> Restore:
    """Let a new job begin with what lies at a path or URI.

    :raises SnapshotError: there is nothing usable there; the text names the file.
    :raises RestoreError: the program does not fit.
    """
    folder = open_folder(snapshot_path(path))
    metadata = read_metadata(folder)
    check_files(base_folder(folder, metadata), metadata)
    snapshot = metadata.snapshot()
    comparison = compare(coordinator.job, metadata, snapshot, allow_non_restored)
    order = coordinator.begin_from(snapshot, folder.uri, ended=metadata.kind == CHECKPOINT)
    return Restore(folder.uri, coordinator, metadata, comparison, order, claim)


def go_on(directory: CheckpointDirectory, coordinator: Coordinator) -> Restore | None:
    """Let a new driver go on with the job of one that died, from its last checkpoint; None if there is none, and the
    job begins anew.

    The program may have changed meanwhile: then its tasks take the state over as from a savepoint.
    """
    numbers = directory.numbers()
    if not numbers:
        coordinator.begin_anew(directory.unused_epoch())
        directory.drop_unneeded(())
        return None
    place = directory.folder.child(f"chk-{numbers[-1]}")
    metadata = directory.read(numbers[-1])
    check_files(directory.shared, metadata)
    snapshot = metadata.snapshot()
    next_epoch = directory.unused_epoch()
    kept = directory.kept()
    if coordinator.checkpoints is not None:
        coordinator.checkpoints.adopt(kept)
    comparison = compare(coordinator.job, metadata, snapshot, allow_non_restored=False)
    if not snapshot.fits(coordinator.job):
        order = coordinator.begin_from(snapshot, place.uri, ended=True, next_epoch=next_epoch)
    else:
        order = None
        coordinator.go_on(snapshot, next_epoch)
    directory.drop_unneeded(kept)  # not before their numbers are out of use
    return Restore(place.uri, coordinator, metadata, comparison, order)


def dispose(path: str) -> None:
    """Delete a savepoint, or a checkpoint with those state files that only it needs.

    :raises SnapshotError: there is none at the path.
    """
    folder = open_folder(absolute(path))
    metadata = read_metadata(folder)
    if metadata.kind != CHECKPOINT:
        folder.delete_tree()
        return
    directory = CheckpointDirectory(_parent(folder))
    directory.delete(metadata.id)
    kept = directory.kept()
    if not kept:
        directory.delete_all()
        return
    storage = directory.storage()
    for task in metadata.tasks:
        storage.discard(task, first_of_epoch(min(other.firsts.get(task, 0) for other in kept)))


def snapshot_path(path: str) -> str:
    """A savepoint, a checkpoint, its ``_metadata`` file, or the directory of a job: then its last checkpoint."""
    uri = absolute(path).rstrip("/").removesuffix("/_metadata")
    folder = open_folder(uri)
    if folder.size("_metadata") is None:
        numbers = CheckpointDirectory(folder).numbers()
        if numbers:
            return folder.child(f"chk-{numbers[-1]}").uri
        raise SnapshotError(f"{uri} is no checkpoint or savepoint: it has no file _metadata")
    return uri


def base_folder(folder: Folder, metadata: Metadata) -> Folder:
    """Where the paths of its files begin."""
    return _parent(folder).child(SHARED) if metadata.kind == CHECKPOINT else folder


def _parent(folder: Folder) -> Folder:
    return open_folder(folder.uri.rstrip("/").rpartition("/")[0])
