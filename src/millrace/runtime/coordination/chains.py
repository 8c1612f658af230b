"""Which state files each task has: those that the running job and its checkpoints need, and when to write new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.storage import TaskId
from millrace.runtime.versions import INITIAL, epoch_and_run, version_of

COMPACT_BYTES = 32 * 1024 * 1024
"""Changes below this size are not worth a compaction."""
COMPACT_VERSIONS = 500
"""Versions of a task after which it should write its whole state."""
TOGETHER = 32
"""One task in so many, and one at least, writes its whole state in the same epoch."""


@dataclass(frozen=True)
class TaskFiles:
    """The files that make up the state of one task at the end of an epoch, as a checkpoint records them."""

    whole: int = INITIAL
    """the version with a whole state, ``INITIAL`` if the task began without any"""
    whole_bytes: int | None = None
    """size of that file; None: there is none"""
    delta_bytes: int = 0
    """size of all changes since"""
    changes: str = ""
    """the versions since, oldest first: ``<epoch>-<run>:<bytes>:<checksum>`` for each, with blanks between them; in
    earlier versions of Millrace without checksums"""
    whole_checksum: int | None = None
    """of the file with the whole state; None: it is not known"""

    @property
    def first(self) -> int:
        """The oldest epoch that is needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    def beyond(self, known: TaskFiles) -> TaskFiles:
        """Those files that ``known`` has not; what that costs does not depend on how many both have."""
        if (known.whole, known.whole_bytes) != (self.whole, self.whole_bytes):
            return self
        rest = self.changes[len(known.changes) :]
        if not self.changes.startswith(known.changes) or (known.changes and rest[:1] not in ("", " ")):
            return self
        return TaskFiles(changes=rest.lstrip())

    def since(self) -> Iterator[tuple[int, int, int | None]]:
        """The versions since the whole state, oldest first, with the sizes and checksums of their changes."""
        for entry in self.changes.split():
            version, size, *checksum = entry.split(":")
            epoch, _, run = version.partition("-")
            yield version_of(int(epoch), int(run)), int(size), int(checksum[0], 16) if checksum else None


class TaskChain:
    """The same for a task that runs. What an epoch adds costs the same however many there were."""

    def __init__(self, files: TaskFiles | None = None) -> None:
        """``files``: what it goes on from."""
        files = files or TaskFiles()
        self.head = self.whole = files.whole
        self.whole_bytes, self.whole_checksum = files.whole_bytes, files.whole_checksum
        self.delta_bytes = files.delta_bytes
        self.added_bytes = 0
        """those that a whole state would have, too, as far as this driver has heard"""
        self.versions = 0
        """those since the whole state"""
        for self.head, *_ in files.since():
            self.versions += 1
        self.ran = self.head
        """the last run that counts, as a version, whether it changed anything or not"""
        self._changes = bytearray(files.changes.encode())

    @property
    def first(self) -> int:
        """The oldest epoch that is needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    @property
    def at_whole(self) -> bool:
        """Whether there is a file with the whole state of the last version."""
        return self.head == self.whole != INITIAL

    @property
    def urgency(self) -> float:
        """How much the task should write its whole state: from 1 on. Rows that are only ever added would be written
        again and again, for nothing."""
        replaced = self.delta_bytes - self.added_bytes
        grown = replaced / max(COMPACT_BYTES, (self.whole_bytes or 0) + self.added_bytes)
        return max(grown, self.versions / COMPACT_VERSIONS)

    def add(self, ack: TaskAck) -> None:
        """The task has acknowledged an epoch that counts."""
        self.ran = version_of(ack.epoch, ack.run)
        if ack.full_bytes is not None:
            self.head = self.whole = self.ran
            self.whole_bytes, self.whole_checksum = ack.full_bytes, ack.full_checksum
            self.delta_bytes, self.added_bytes, self.versions = 0, 0, 0
            self._changes = bytearray()
        elif ack.delta_bytes is not None:
            self.head = self.ran
            self.delta_bytes += ack.delta_bytes
            self.added_bytes += ack.added_bytes
            self.versions += 1
            self._changes += b" %d-%d:%d" % (ack.epoch, ack.run, ack.delta_bytes)
            if ack.delta_checksum is not None:
                self._changes += b":%08x" % ack.delta_checksum

    def files(self) -> TaskFiles:
        changes = self._changes.decode().lstrip()
        return TaskFiles(self.whole, self.whole_bytes, self.delta_bytes, changes, self.whole_checksum)


class Chains:
    """The chains of all tasks at the end of an epoch."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self.tasks: dict[TaskId, TaskChain] = {task: TaskChain() for task in tasks}

    def restore(self, files: Mapping[TaskId, TaskFiles]) -> None:
        """The tasks go on from these files."""
        self.tasks = {task: TaskChain(known) for task, known in files.items()}

    def files(self) -> dict[TaskId, TaskFiles]:
        return {task: chain.files() for task, chain in self.tasks.items()}

    def sizes(self) -> dict[TaskId, int]:
        """Bytes of all files of each task."""
        return {task: chain.bytes for task, chain in self.tasks.items()}

    def record(self, acks: Iterable[TaskAck]) -> None:
        """An epoch is complete."""
        for ack in acks:
            self.tasks[ack.stage, ack.partition].add(ack)

    def to_compact(self) -> frozenset[TaskId]:
        """Tasks that should write their whole state in the next epoch. Never many at once: those that need it most."""
        urgent = [(chain.urgency, task) for task, chain in self.tasks.items() if chain.urgency >= 1]
        urgent.sort(key=lambda entry: (-entry[0], entry[1]))
        return frozenset(task for _, task in urgent[: max(1, len(self.tasks) // TOGETHER)])
