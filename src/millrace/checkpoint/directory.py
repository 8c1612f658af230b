"""The directory of one job's checkpoints: ``chk-<number>/_metadata`` for each, ``shared/`` for its tasks' state."""

from __future__ import annotations

import re

from millrace.checkpoint.errors import CorruptFileError, MissingFileError
from millrace.checkpoint.folder import Folder
from millrace.checkpoint.metadata import METADATA, Metadata, checkpoint_metadata, read_metadata, write_metadata
from millrace.checkpoint.storage import FolderStorage, epoch_of, state_path
from millrace.runtime.checkpoints import Kept
from millrace.runtime.snapshot import JobSnapshot

SHARED = "shared"
_CHECKPOINT = re.compile(r"^chk-(\d+)/" + METADATA + "$")


class CheckpointDirectory:
    """A ``CheckpointStore``: the checkpoints of one job below ``folder``."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.shared = folder.child(SHARED)

    def storage(self) -> FolderStorage:
        """Where the tasks keep their state."""
        return FolderStorage(self.shared)

    def write(self, snapshot: JobSnapshot) -> str:
        place = self.folder.child(f"chk-{snapshot.epoch}")
        write_metadata(place, checkpoint_metadata(snapshot))
        return place.uri

    def delete(self, checkpoint_id: int) -> None:
        self.folder.delete_tree(f"chk-{checkpoint_id}")

    def numbers(self) -> list[int]:
        """The checkpoints that are there, oldest first."""
        return sorted(int(match.group(1)) for path in self.folder.files() if (match := _CHECKPOINT.match(path)))

    def read(self, checkpoint_id: int) -> Metadata:
        return read_metadata(self.folder.child(f"chk-{checkpoint_id}"))

    def kept(self) -> list[Kept]:
        """The checkpoints that are there and what they need, oldest first."""
        return [
            Kept(number, {task: chain.first for task, chain in self.read(number).tasks.items()})
            for number in self.numbers()
        ]

    def unused_epoch(self) -> int:
        """A number that no epoch of an earlier driver has.

        The tasks of a driver that has died may still be in an epoch, at most one after the last that left a trace.
        """
        known = [epoch for path in self.shared.files() if (epoch := epoch_of(path)) is not None]
        return max([0, *known, *self.numbers()]) + 2

    def drop_lost_epochs(self, last: int = 0) -> None:
        """Delete the state of all epochs after ``last``, the checkpoint that the job goes back to."""
        for path in self.shared.files():
            epoch = epoch_of(path)
            if epoch is not None and epoch > last:
                self.shared.delete(path)

    def delete_all(self) -> None:
        """The job is over and nothing of it is to be kept."""
        self.folder.delete_tree()


def state_files(metadata: Metadata) -> list[tuple[str, int]]:
    """The files that a checkpoint consists of, below ``shared``, with their sizes."""
    files = []
    for task, chain in metadata.tasks.items():
        if chain.full_bytes is not None:
            files.append((state_path(task, chain.first, "full"), chain.full_bytes))
        epochs = [epoch for epoch in metadata.history if epoch >= chain.first]
        deltas = epochs[len(epochs) - len(chain.delta_bytes) :]
        files += [(state_path(task, epoch, "delta"), size) for epoch, size in zip(deltas, chain.delta_bytes)]
    return files


def check_files(folder: Folder, metadata: Metadata) -> None:
    """See that all files of a checkpoint or savepoint are there and have their sizes; checksums are for the readers.

    ``folder`` is the one that the paths begin at: a savepoint's own, or ``shared`` of a job's checkpoints.

    :raises SnapshotError: naming the first file that is not.
    """
    files = state_files(metadata)
    files += [(file.path, file.size) for saved in metadata.saved.values() for file in saved.files]
    for path, expected in files:
        size = folder.size(path)
        if size is None:
            raise MissingFileError(f"{folder.uri}/{path}")
        if size != expected:
            raise CorruptFileError(f"{folder.uri}/{path}", f"it has {size} bytes instead of {expected}")
