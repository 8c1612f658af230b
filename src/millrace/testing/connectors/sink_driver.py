"""A small driver with its tasks around one sink: epochs, checkpoints, and failures between any two of their steps.

It keeps to the contract in ``millrace.common.sink`` and knows nothing else. The content of a checkpoint is pickled, and
so is all that a dead driver leaves behind. Writers live as long as their task stays on its worker. A task that is
killed, or replaced by another one, is dropped without being closed, and may continue at any time.
"""

from __future__ import annotations

import contextlib
import enum
import pickle
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext


class Point(enum.Enum):
    """Where a task fails in its epoch: with an exception (its writer is closed) or killed."""

    ERROR_WRITING = enum.auto()
    KILLED_WRITING = enum.auto()
    KILLED_AFTER_FLUSH = enum.auto()
    KILLED_AFTER_PREPARE = enum.auto()
    KILLED_BEFORE_ACK = enum.auto()


class DriverPoint(enum.Enum):
    """Where the driver dies when it takes a checkpoint."""

    BEFORE_METADATA = enum.auto()
    AFTER_METADATA = enum.auto()
    COMMITTING = enum.auto()
    AFTER_COMMIT = enum.auto()


class DriverDied(Exception):
    """The test killed the driver."""


class _TaskDied(Exception):
    pass


class _NothingToCommit(Committer[Any]):
    """For sinks that write in their tasks."""

    def commit(self, committables: Sequence[Any]) -> None:
        assert not committables


class JobWriterContext(WriterContext):
    def __init__(self, job_id: str, *args: Any) -> None:
        super().__init__(*args)
        self._job_id = job_id

    def get_job_id(self) -> str:
        return self._job_id


@dataclass
class Subtask:
    """A subtask on a worker, with its writer."""

    writer: SinkWriter[Any]
    context: JobWriterContext


@dataclass(frozen=True)
class Metadata:
    """The content of a checkpoint."""

    job_id: str
    epoch: int
    position: int
    states: list[list[Any]]
    pending: list[Any]


class Driver:
    """One life of the driver. ``elements`` is the input: element *i* lies at position *i*.

    :param route: the subtask of an element.
    :param other_goes_on: whether the job that took the checkpoint is alive.
    :param on_kill: called with the writer of a task that is killed or left behind.
    :param slice_ms: how far the clock goes in the midst of a task's elements, where a slice ends; 0: none does.
    :param commit_partly: what a committer has done when the driver dies in the middle: (committer, what it was given,
        how far it got). By default it has done the first ones.
    """

    killed: list[SinkWriter[Any]] = []
    """writers of tasks that were dropped"""

    def __init__(
        self,
        sink: Sink[Any],
        elements: Sequence[Any],
        *,
        job_id: str = "job",
        parallelism: int = 1,
        clock: Clock | None = None,
        route: Callable[[Any, int], int] | None = None,
        on_kill: Callable[[SinkWriter[Any]], None] | None = None,
        checkpointed: bytes | None = None,
        other_goes_on: bool = False,
        commit_partly: Callable[[Committer[Any], Sequence[Any], int], None] | None = None,
        slice_ms: int = 0,
    ) -> None:
        self._sink = sink
        self._slice_ms = slice_ms
        self._commit_partly = commit_partly or _the_first_ones
        self._payload = pickle.dumps(sink)
        self._elements = elements
        self.clock = clock or Clock()
        self._route = route or (lambda element, parallelism: hash(element) % parallelism)
        self._on_kill = on_kill or (lambda writer: None)
        self.job_id = job_id
        self.parallelism = parallelism
        self.epochs = 0
        self.position = 0
        """number of elements that the completed epochs have read"""
        self.furthest = 0
        """number of elements that any epoch has read, failed ones included"""
        self._live: dict[int, Subtask] = {}
        """subtasks on the worker that they had in the last completed epoch"""
        self.states: list[list[Any]] = [[] for _ in range(parallelism)]
        self.pending: list[Any] = []
        self.to_commit = 0
        """number of elements of ``pending`` that the last checkpoint covers"""
        self.checkpointed = checkpointed
        """the last checkpoint"""
        self.committer = self._new_committer()
        if checkpointed is None:
            self.committer.begin()
        else:
            self._restore(pickle.loads(checkpointed), other_goes_on)

    def _new_committer(self) -> Committer[Any]:
        return self._sink.create_committer() or _NothingToCommit()

    def _restore(self, metadata: Metadata, other_goes_on: bool) -> None:
        # Each driver numbers its epochs itself; but dead drivers have used the next numbers, too.
        self.epochs, self.position = metadata.epoch + 1, metadata.position
        states = [state for states in metadata.states for state in states]
        if self.parallelism == len(metadata.states):
            self.states = metadata.states
        else:
            self.states = [states[subtask :: self.parallelism] for subtask in range(self.parallelism)]
        self.pending = list(metadata.pending)
        self.to_commit = len(self.pending)
        self.committer.recover(self.job_id if other_goes_on else metadata.job_id, tuple(self.pending), states)
        self.commit()

    def begin_anew(self) -> None:
        """Begin without state, because a driver of this job died before its first checkpoint."""
        self.committer.recover(self.job_id, (), ())

    def recover(self, fresh_committer: bool = False) -> None:
        """Recover from a failed epoch. Completed epochs count, whether a checkpoint covers them or not."""
        if fresh_committer:
            self.committer.close()
            self.committer = self._new_committer()
        states = [state for states in self.states for state in states]
        self.committer.recover(self.job_id, tuple(self.pending), states)
        self.commit()

    def epoch(
        self,
        count: int,
        *,
        end: bool = False,
        fail: tuple[Point | None, int] | None = None,
        acked: Iterable[int] = (),
        repeated: Point | None = None,
        moved: Iterable[int] = (),
        within: Callable[[SinkWriter[Any]], None] | None = None,
    ) -> bool:
        """Read ``count`` more elements; whether the epoch is complete.

        ``fail``: where, and the first subtask that fails; None: all have prepared, and then something else fails.
        ``acked``: the subtasks whose acknowledgement reaches the driver nevertheless. ``repeated``: where each task
        fails for the first time; it then runs again, in the same epoch. ``moved``: the subtasks that go on elsewhere.
        ``within``: called with each writer that has got elements, before the epoch ends.
        """
        self.epochs += 1
        elements = self._elements[self.position : self.position + count]
        self.furthest = max(self.furthest, self.position + count)
        shares: list[list[Any]] = [[] for _ in range(self.parallelism)]
        for element in elements:
            shares[self._route(element, self.parallelism)].append(element)
        done: list[tuple[list[Any], list[Any]]] = []
        ran: dict[int, Subtask] = {}
        for number in {number % self.parallelism for number in moved} & self._live.keys():
            self._leave(self._live.pop(number))
        for number, share in enumerate(shares):
            fails = fail is not None and number >= fail[1]
            if repeated is not None:
                with contextlib.suppress(_TaskDied):
                    self._task(number, share, end, repeated)
            try:
                subtask, prepared, states = self._task(number, share, end, fail[0] if fail and fails else None, within)
                ran[number] = subtask
                done.append((prepared, states))
            except _TaskDied:
                done.append(([], []))
        if fail is not None:
            told = sorted(set(acked))
            self.committer.abort([c for number in told for c in done[number % self.parallelism][0]])
            self.forget([*ran.values(), *self._live.values()])
            return False
        self._live = ran
        self.pending += [committable for committables, _ in done for committable in committables]
        self.states = [states for _, states in done]
        self.position += len(elements)
        if end:
            for subtask in ran.values():
                subtask.writer.close()
            self._live = {}
        return True

    def forget(self, subtasks: Iterable[Subtask] | None = None) -> None:
        """Drop these subtasks without closing them; None: all."""
        for subtask in self._live.values() if subtasks is None else subtasks:
            self._leave(subtask)
        self._live = {}

    def _leave(self, subtask: Subtask) -> None:
        if subtask.writer not in self.killed:
            self.killed.append(subtask.writer)
            self._on_kill(subtask.writer)

    def _writer_of(self, number: int) -> Subtask:
        live = self._live.pop(number, None)
        if live is not None:
            live.context.begin_epoch(self.epochs)
            return live
        sink: Sink[Any] = pickle.loads(self._payload)
        context = JobWriterContext(self.job_id, number, self.parallelism, self.epochs, self.clock)
        states = pickle.loads(pickle.dumps(self.states[number]))
        writer = sink.restore_writer(context, states) if states else sink.create_writer(context)
        return Subtask(writer, context)

    def _task(
        self,
        number: int,
        share: list[Any],
        end: bool,
        fail: Point | None,
        within: Callable[[SinkWriter[Any]], None] | None = None,
    ) -> tuple[Subtask, list[Any], list[Any]]:
        subtask = self._writer_of(number)
        writer = subtask.writer
        try:
            for index, element in enumerate(share):
                if index == (len(share) + 1) // 2:
                    self._end_slice(writer)
                    if fail in (Point.ERROR_WRITING, Point.KILLED_WRITING):
                        raise _TaskDied
                writer.write(element, ElementContext())
            if fail in (Point.ERROR_WRITING, Point.KILLED_WRITING):
                raise _TaskDied
            if within is not None and share:
                within(writer)
            writer.end_slice(self.clock.now)
            writer.flush(end)
            if fail is Point.KILLED_AFTER_FLUSH:
                raise _TaskDied
            committables = pickle.loads(pickle.dumps(writer.prepare_commit()))
            if fail is Point.KILLED_AFTER_PREPARE:
                raise _TaskDied
            states = pickle.loads(pickle.dumps(writer.snapshot_state(self.epochs)))
            if fail is Point.KILLED_BEFORE_ACK:
                raise _TaskDied
        except _TaskDied:
            if fail is Point.ERROR_WRITING:
                writer.close()
            else:
                self._leave(subtask)
            raise
        return subtask, committables, states

    def _end_slice(self, writer: SinkWriter[Any]) -> None:
        if self._slice_ms:
            self.clock.now += self._slice_ms
            writer.end_slice(self.clock.now)

    def checkpoint(self, die: DriverPoint | None = None, committed: int = 0) -> None:
        """Record a checkpoint and commit. ``committed``: how many are committed when the driver dies in the middle.

        :raises DriverDied: if asked for; go on with a new ``Driver`` and ``checkpointed``.
        """
        if die is DriverPoint.BEFORE_METADATA:
            raise DriverDied
        self.checkpointed = pickle.dumps(Metadata(self.job_id, self.epochs, self.position, self.states, self.pending))
        self.to_commit = len(self.pending)
        if die is DriverPoint.AFTER_METADATA:
            raise DriverDied
        if die is DriverPoint.COMMITTING:
            self._commit_partly(self.committer, tuple(self.pending), committed)
            raise DriverDied
        self.commit()
        if die is DriverPoint.AFTER_COMMIT:
            raise DriverDied

    def commit(self) -> None:
        left = self.committer.commit(tuple(self.pending[: self.to_commit])) if self.to_commit else None
        self.pending[: self.to_commit] = left or ()
        self.to_commit = 0

    def sweep(self) -> None:
        """Clean up as the driver does from time to time after a checkpoint."""
        states = [state for states in self.states for state in states]
        self.committer.sweep(self.job_id, self.epochs, tuple(self.pending), states)

    def close(self) -> None:
        """End the job: all of its output is committed."""
        assert not self.pending
        self.committer.recover(self.job_id, (), ())
        self.committer.close()


def _the_first_ones(committer: Committer[Any], committables: Sequence[Any], count: int) -> None:
    committer.commit(committables[: count % (len(committables) + 1)])


def by_chance(seed: int) -> Callable[[Any, int], int]:
    """A route that sends a repeated element to another subtask each time."""
    dice = random.Random(seed)
    return lambda element, parallelism: dice.randrange(parallelism)
