"""Whole states that are made from the files of tasks while the tasks run on (ADR 31): the driver's account of them.

A task with much state does not write all of it itself, which would stop its stream. At the end of an epoch it writes
what has changed, as always. Another process reads the task's files up to that epoch and writes the whole state, which
later takes their place in the task's chain, or the task's part of a savepoint. Until then no file that it reads is
deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from millrace.runtime.bases.epoch_protocol import SavedSubtask, TaskOrder
from millrace.runtime.coordination.snapshot import Chains, TaskFiles, WholeFile
from millrace.runtime.failure import describe
from millrace.runtime.storage import TaskId

logger = logging.getLogger(__name__)

SMALL_BYTES = 4 * 1024 * 1024
"""A task whose files are smaller than this (bytes) writes its whole state itself: that takes a few ms."""


class WholeStates(Protocol):
    """Makes whole states from files, outside the processes of the tasks."""

    def write(self, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        """Write the whole state at the end of the last epoch of some files, beside them."""

    def save(self, task: TaskId, files: TaskFiles, uri: str) -> Future[tuple[SavedSubtask, ...]]:
        """Write the task's part of the savepoint in the folder ``uri``, as of the end of the files' last epoch."""


@dataclass(frozen=True)
class Compaction:
    """The whole state of one task, while it is made."""

    files: TaskFiles
    """the files that it is made from, which must not be deleted"""
    head: int
    """the last version in it"""
    added_bytes: int
    """``TaskChain.added_bytes`` at that version"""
    made: Future[WholeFile]


@dataclass(frozen=True)
class Saving:
    """The parts of one savepoint that are made from files."""

    files: Mapping[TaskId, TaskFiles]
    """task -> the files that its part is made from, which must not be deleted"""
    parts: Mapping[TaskId, Future[tuple[SavedSubtask, ...]]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return all(part.done() for part in self.parts.values())

    def saved(self) -> tuple[SavedSubtask, ...]:
        """All parts; waits for them.

        :raises Exception: the error of a part.
        """
        return tuple(saved for _, part in sorted(self.parts.items()) for saved in part.result())


class Compactions:
    """Decides which tasks get a whole state, and who makes it.

    Called by the thread that drives the job, except for ``oldest_held``, and never while an epoch is concluded beside
    the next one, except for ``orders`` and ``from_files``.
    """

    def __init__(self) -> None:
        self.whole_states: WholeStates | None = None
        """None: tasks write all their whole states themselves"""
        self._running: dict[TaskId, Compaction] = {}
        self._savings: list[Saving] = []
        self._failed: set[TaskId] = set()
        """tasks of which no whole state could be made from files: they write the next one themselves"""
        self._asked: dict[TaskId, int] = {}
        """task -> the first epoch at whose end its whole state counts for a checkpoint on demand"""

    @property
    def asked(self) -> bool:
        """Whether a requested checkpoint still waits for whole states."""
        return bool(self._asked)

    def ask(self, tasks: Iterable[TaskId], epoch: int) -> None:
        """A checkpoint is requested that needs no file of the epochs before ``epoch``."""
        self._asked = dict.fromkeys(tasks, epoch)

    def due(self, chains: Chains) -> frozenset[TaskId]:
        """The tasks whose state at the end of the next epoch shall become a whole one."""
        return chains.to_compact(self._running.keys()) | (self._asked.keys() - self._running.keys())

    def from_files(self, chains: Chains, task: TaskId) -> bool:
        """Whether the whole state of a task, or its part of a savepoint, is made from its files."""
        large = chains.tasks[task].bytes >= SMALL_BYTES
        return large and self.whole_states is not None and task not in self._failed

    def take(self, chains: Chains) -> list[TaskId]:
        """An epoch is complete: let the whole states that are there take the place of files; returns their tasks."""
        self._savings = [saving for saving in self._savings if not saving.done]
        taken = []
        for task, compaction in list(self._running.items()):
            if not compaction.made.done():
                continue
            del self._running[task]
            error = compaction.made.exception()
            if error is not None:
                logger.warning("task %s writes its whole state itself: %s", task, describe(error))
                self._failed.add(task)
                continue
            chain = chains.tasks.get(task)
            if chain is not None and chain.whole < compaction.head:
                chain.begin_at(compaction.head, compaction.added_bytes, compaction.made.result())
                taken.append(task)
        for task, epoch in list(self._asked.items()):
            if task not in chains.tasks or chains.tasks[task].first >= epoch:
                del self._asked[task]
        return taken

    def begin(self, chains: Chains, orders: Mapping[TaskId, TaskOrder]) -> None:
        """An epoch is complete: let the whole states that its orders have left to this be made."""
        for task, own in orders.items():
            if own.compact and not own.from_files:
                self._failed.discard(task)
            if own.compact and own.from_files and self.whole_states is not None:
                chain = chains.tasks[task]
                files = chain.files()
                made = self.whole_states.write(task, files)
                self._running[task] = Compaction(files, chain.head, chain.added_bytes, made)

    def save(self, chains: Chains, orders: Mapping[TaskId, TaskOrder], uri: str) -> Saving:
        """An epoch with a savepoint is complete: let the parts be made that its orders have left to this."""
        files = {task: chains.tasks[task].files() for task, own in orders.items() if own.from_files}
        parts = {}
        for task, known in files.items():
            assert self.whole_states is not None, "its orders were made with it"
            parts[task] = self.whole_states.save(task, known, uri)
        saving = Saving(files, parts)
        if parts:
            self._savings.append(saving)
        return saving

    def oldest_held(self, task: TaskId, first: int) -> int:
        """The oldest epoch whose files of the task are needed.

        :param first: the oldest one that is needed for other reasons.
        """
        return min([first, *(files.first for other, files in self._read() if other == task)])

    def validate(self, chains: Chains, discarded: Mapping[TaskId, int]) -> None:
        """Check what must hold between any two calls.

        :param discarded: task -> the oldest epoch whose files were not deleted.
        :raises AssertionError: something does not hold.
        """
        most = chains.together
        asked: Collection[TaskId] = self._asked
        running = [task for task in self._running if task not in asked]
        assert len(running) <= most, f"{len(running)} whole states are made at the same time, not {most}"
        for task, compaction in self._running.items():
            last = compaction.files.last
            assert compaction.head == last, (
                f"task {task}: a whole state of {compaction.head} is made from files to {last}"
            )
            chain = chains.tasks.get(task)
            known = chain is None or chain.whole >= last or last in chain.known()
            assert known, f"task {task}: a whole state is made of version {last}, which is not in its chain"
        for task, files in self._read():
            gone = discarded.get(task, 0)
            assert gone <= files.first, (
                f"files of task {task} from epoch {files.first} on are read, those before {gone} are deleted"
            )

    def _read(self) -> Iterator[tuple[TaskId, TaskFiles]]:
        """The files that something is made from."""
        for task, compaction in self._running.items():
            yield task, compaction.files
        for saving in self._savings:
            yield from saving.files.items()
