"""The directory of one job's checkpoints: ``chk-<number>/_metadata`` for each, ``shared/`` for its tasks' state."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from millrace.checkpoint.errors import CorruptFileError, MissingFileError
from millrace.checkpoint.folder import Folder
from millrace.checkpoint.metadata import METADATA, Metadata, checkpoint_metadata, read_metadata, write_metadata
from millrace.checkpoint.storage import FolderStorage, chain_files, stored_version
from millrace.runtime.checkpoints import Kept
from millrace.runtime.snapshot import JobSnapshot
from millrace.runtime.storage import TaskId

logger = logging.getLogger(__name__)

SHARED = "shared"
RESERVED = "epochs"
"""The file with the number from which on the epochs of the last driver, or of its last attempt, are numbered."""
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

    def reserve(self, epoch: int) -> None:
        self.folder.write(RESERVED, [str(epoch).encode()])

    def delete(self, checkpoint_id: int) -> None:
        self.folder.delete_tree(f"chk-{checkpoint_id}")

    def numbers(self) -> list[int]:
        """The checkpoints that are there, oldest first."""
        return sorted(int(match.group(1)) for path in self.folder.files() if (match := _CHECKPOINT.match(path)))

    def read(self, checkpoint_id: int) -> Metadata:
        return read_metadata(self.folder.child(f"chk-{checkpoint_id}"))

    def kept(self) -> list[Kept]:
        """The checkpoints that are there and what they need, oldest first."""
        return [Kept(number, self._firsts(number)) for number in self.numbers()]

    def _firsts(self, number: int) -> dict[TaskId, int]:
        try:
            return {task: chain.first for task, chain in self.read(number).tasks.items()}
        except CorruptFileError:
            # Nobody can go on from it. Whoever needs this very one reads it himself, and hears why.
            logger.warning("checkpoint %d in %s is of no use", number, self.folder.uri, exc_info=True)
            return {}

    def unused_epoch(self) -> int:
        """A number that no epoch of an earlier driver has.

        The tasks of a driver that has died may still be in an epoch, at most one after the last that left a trace:
        state, a checkpoint, or a reservation.
        """
        known = [version[1] for path in self.shared.files() if (version := stored_version(path)) is not None]
        try:
            known.append(int(bytes(self.folder.read(RESERVED))))
        except FileNotFoundError:
            pass  # the first driver makes one when something fails
        return max([0, *known, *self.numbers()]) + 2

    def drop_unneeded(self, kept: Sequence[Kept]) -> None:
        """Delete state that none of these checkpoints, oldest first, needs: of epochs that count for nothing after a
        driver died, and what it would have deleted next."""
        last = kept[-1].checkpoint_id if kept else 0
        firsts: dict[TaskId, int] = {}
        for task, first in (item for checkpoint in kept for item in checkpoint.firsts.items()):
            firsts[task] = min(first, firsts.get(task, first))
        try:
            for path in self.shared.files():
                version = stored_version(path)
                if version is not None and not firsts.get(version[0], last + 1) <= version[1] <= last:
                    self.shared.delete(path)
        except OSError:
            logger.warning("what nobody needs could not be deleted from %s", self.shared.uri, exc_info=True)

    def delete_all(self) -> None:
        """The job is over and nothing of it is to be kept."""
        self.folder.delete_tree()


def state_files(metadata: Metadata) -> list[tuple[str, int]]:
    """The files that a checkpoint consists of, below ``shared``, with their sizes."""
    return [file for task, chain in metadata.tasks.items() for file in chain_files(task, chain, metadata.history)]


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
