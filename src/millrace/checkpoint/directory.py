"""The directory of one job's checkpoints: ``chk-<number>/_metadata`` for each, ``shared/`` for its tasks' state."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from millrace.checkpoint.files.errors import CorruptFileError, MissingFileError, SnapshotError
from millrace.checkpoint.files.folder import Folder
from millrace.checkpoint.savepoints.metadata import (
    CHECKPOINT,
    METADATA,
    Metadata,
    checkpoint_metadata,
    read_metadata,
    write_metadata,
)
from millrace.checkpoint.tasks.storage import ORDERS, FolderStorage, chain_files, stored_version
from millrace.runtime.coordination.chains import TaskFiles
from millrace.runtime.coordination.checkpoints import Kept
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.storage import TaskId

logger = logging.getLogger(__name__)

SHARED = "shared"
RESERVED = "epochs"
"""The file with the number from which on the epochs of the last driver, or of its last attempt, are numbered."""
_NUMBERED = re.compile(r"/chk-(\d+)/?$")
_CHECKPOINT = re.compile(r"^chk-(\d+)/" + METADATA + "$")


UNUSABLE = "_unusable"
"""The file in the folder of a checkpoint that the job could not go on from: it says why, and that it counts no more."""


class Listing:
    """All files of a job at one moment, with their sizes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.checkpoints = sorted(int(match[1]) for path in sizes if (match := _CHECKPOINT.match(path)))
        """all that are there, oldest first"""
        self.usable = [number for number in self.checkpoints if f"chk-{number}/{UNUSABLE}" not in sizes]
        """those that nobody has found to be damaged"""

    def state(self) -> dict[str, int]:
        """The files of the tasks, below ``shared``."""
        prefix = f"{SHARED}/"
        return {path[len(prefix) :]: size for path, size in self.sizes.items() if path.startswith(prefix)}


class CheckpointDirectory:
    """A ``CheckpointStore``: the checkpoints of one job below ``folder``.

    :param durable: whether checkpoints shall outlast a loss of power.
    :param job: the job's id, for who writes state there.
    """

    def __init__(self, folder: Folder, durable: bool = True, job: str = "") -> None:
        self.folder = folder
        self._job = job
        self.shared = folder.child(SHARED)
        self._durable = durable
        self._persisted: dict[TaskId, TaskFiles] = {}
        """the files of tasks that are known to last"""

    def storage(self, key_groups: Mapping[str, int] = MappingProxyType({})) -> FolderStorage:
        """Where the tasks keep their state."""
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
        """The checkpoints that are there and count, oldest first."""
        return self.listing().usable

    def newest(self, listing: Listing) -> tuple[int, Metadata, dict[int, SnapshotError]]:
        """The newest checkpoint that is whole, and what is wrong with those after it.

        :raises SnapshotError: there is none; about the newest.
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
        """Let a damaged checkpoint count no more; its files stay to be looked at."""
        self.folder.write(f"chk-{checkpoint_id}/{UNUSABLE}", [str(why).encode()])

    def read(self, checkpoint_id: int) -> Metadata:
        return read_checkpoint(self.folder.child(f"chk-{checkpoint_id}"))

    def snapshots(self) -> list[JobSnapshot]:
        """What the checkpoints that are there hold for a driver.

        :raises SnapshotError: one of them can't be read.
        """
        return [self.read(number).snapshot() for number in self.listing().usable]

    def kept(self, listing: Listing | None = None, until: int | None = None) -> list[Kept]:
        """The checkpoints that are there and what they need, oldest first.

        :param until: the last one that counts.
        """
        numbers = (listing or self.listing()).usable
        return [Kept(number, self._firsts(number)) for number in numbers if until is None or number <= until]

    def _firsts(self, number: int) -> dict[TaskId, int]:
        try:
            return {task: files.first for task, files in self.read(number).tasks.items()}
        except CorruptFileError:
            # Nobody can go on from it. Whoever needs this very one reads it himself, and hears why.
            logger.warning("checkpoint %d in %s is of no use", number, self.folder.uri, exc_info=True)
            return {}

    def unused_epoch(self, listing: Listing | None = None) -> int:
        """A number that no epoch of an earlier driver has.

        The tasks of a driver that has died may still be in an epoch, at most one after the last that left a trace:
        state, a checkpoint, or a reservation.
        """
        listing = listing or self.listing()
        known = [version[1] for path in listing.state() if (version := stored_version(path)) is not None]
        try:
            known.append(int(bytes(self.folder.read(RESERVED))))
        except FileNotFoundError:
            pass  # the first driver makes one when something fails
        return max([0, *known, *listing.checkpoints]) + 2

    def drop_unneeded(self, kept: Sequence[Kept]) -> None:
        """Delete what none of these checkpoints, oldest first, needs: state of epochs that count for nothing after a
        driver died, what it would have deleted next, and its orders."""
        last = kept[-1].checkpoint_id if kept else 0
        firsts: dict[TaskId, int] = {}
        for task, first in (item for checkpoint in kept for item in checkpoint.firsts.items()):
            firsts[task] = min(first, firsts.get(task, first))
        try:
            for path in self.shared.files():
                version = stored_version(path)
                if version is None and path.startswith(f"{ORDERS}/"):
                    self.shared.delete(path)
                if version is not None and not firsts.get(version[0], last + 1) <= version[1] <= last:
                    self.shared.delete(path)
        except OSError:
            logger.warning("what nobody needs could not be deleted from %s", self.shared.uri, exc_info=True)

    def delete_all(self) -> None:
        """The job is over and nothing of it is to be kept."""
        self.folder.delete_tree()


def read_checkpoint(folder: Folder) -> Metadata:
    """What lies in the folder of a checkpoint or savepoint.

    :raises SnapshotError: there is none, it is damaged, or it is of another checkpoint than the folder.
    """
    metadata = read_metadata(folder)
    named = _NUMBERED.search(folder.uri)
    if metadata.kind == CHECKPOINT and named is not None and int(named[1]) != metadata.id:
        path = f"{folder.uri}/{METADATA}"
        raise CorruptFileError(path, f"another file is in its place: that of checkpoint {metadata.id}")
    return metadata


def state_files(metadata: Metadata) -> list[tuple[str, int]]:
    """The files that a checkpoint consists of, below ``shared``, with their sizes."""
    chains = (file for task, files in metadata.tasks.items() for file in chain_files(task, files))
    return [(file.path, file.size) for file in chains]


def check_sizes(uri: str, metadata: Metadata, sizes: Mapping[str, int]) -> None:
    """See that all files of a checkpoint or savepoint are there and have their sizes; checksums are for the readers.

    :param uri: the folder that the paths begin at: a savepoint's own, or ``shared`` of a job's checkpoints.
    :param sizes: what is there.
    :raises SnapshotError: naming the first file that is not.
    """
    files = state_files(metadata)
    files += [(file.path, file.size) for saved in metadata.saved.values() for file in saved.files]
    for path, expected in files:
        size = sizes.get(path)
        if size is None:
            raise MissingFileError(f"{uri}/{path}")
        if size != expected:
            raise CorruptFileError(f"{uri}/{path}", f"it has {size} bytes instead of {expected}")
