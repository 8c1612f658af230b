"""``check_sink``: tests that every element is written (exactly once if promised), wherever tasks and driver die.

A small driver with its tasks runs around one sink: epochs, checkpoints, and failures between any two of their steps. It
keeps to the contract in ``millrace.common.sink`` and knows nothing else. The content of a checkpoint is pickled, and so
is all that a dead driver leaves behind. Writers live as long as their task stays on its worker. A task that is killed,
or replaced by another one, is dropped without being closed, and may continue at any time.
"""

from __future__ import annotations

import contextlib
import enum
import pickle
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter
from millrace.testing.conformance.checks import Check, run_all
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext

# The driver


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
        """the number of the last epoch that has ended"""
        self._number = 0
        """the number of the epoch that runs, or ran last"""
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
        beside: Callable[[], None] | None = None,
    ) -> bool:
        """Read ``count`` more elements; whether the epoch is complete.

        ``fail``: where, and the first subtask that fails; None: all have prepared, and then something else fails.
        ``acked``: the subtasks whose acknowledgement reaches the driver nevertheless. ``repeated``: where each task
        fails for the first time; it then runs again, in the same epoch. ``moved``: the subtasks that go on elsewhere.
        ``within``: called with each writer that has got elements, before the epoch ends. ``beside``: called after each
        step of each task; it may record, commit and sweep the epoch before.
        """
        self._number = self.epochs + 1
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
                point = fail[0] if fail and fails else None
                subtask, prepared, states = self._task(number, share, end, point, within, beside)
                ran[number] = subtask
                done.append((prepared, states))
            except _TaskDied:
                done.append(([], []))
        self.epochs = self._number
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
            live.context.begin_epoch(self._number)
            return live
        sink: Sink[Any] = pickle.loads(self._payload)
        context = JobWriterContext(self.job_id, number, self.parallelism, self._number, self.clock)
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
        beside: Callable[[], None] | None = None,
    ) -> tuple[Subtask, list[Any], list[Any]]:
        subtask = self._writer_of(number)
        writer = subtask.writer
        beside = beside or _nothing
        beside()
        try:
            for index, element in enumerate(share):
                if index == (len(share) + 1) // 2:
                    self._end_slice(writer)
                    if fail in (Point.ERROR_WRITING, Point.KILLED_WRITING):
                        raise _TaskDied
                writer.write(element, ElementContext())
                beside()
            if fail in (Point.ERROR_WRITING, Point.KILLED_WRITING):
                raise _TaskDied
            if within is not None and share:
                within(writer)
            writer.end_slice(self.clock.now)
            writer.flush(end)
            beside()
            if fail is Point.KILLED_AFTER_FLUSH:
                raise _TaskDied
            committables = pickle.loads(pickle.dumps(writer.prepare_commit()))
            beside()
            if fail is Point.KILLED_AFTER_PREPARE:
                raise _TaskDied
            states = pickle.loads(pickle.dumps(writer.snapshot_state(self._number)))
            beside()
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


def _nothing() -> None:
    """Nothing happens beside an epoch."""


def _the_first_ones(committer: Committer[Any], committables: Sequence[Any], count: int) -> None:
    committer.commit(committables[: count % (len(committables) + 1)])


def by_chance(seed: int) -> Callable[[Any, int], int]:
    """A route that sends a repeated element to another subtask each time."""
    dice = random.Random(seed)
    return lambda element, parallelism: dice.randrange(parallelism)


# The tests

SEEDS = (1, 2, 3)
STEPS = 25
"""steps of a run with many failures"""
VISIBLE_SECONDS = 20.0
"""time after which a committed element counts as lost if readers do not see it (s)"""
BESIDE = "An epoch is committed and swept while the next one runs"
"""a check of which each committer with ``sweep`` needs a case"""
STRANGE = "never to be seen"
STEPS_OF_A_TASK = 6
"""after which something may happen beside its epoch, where it has two elements"""
SLICE_MS = 10_000
"""how far the clock moves within an epoch (ms)"""
LONG_MS = 3_600_000
"""time after which every waiting element is overdue (ms)"""


class SinkUnderTest(ABC):
    """A place that a sink writes: a topic, a queue, a folder. Every check makes one of its own.

    :cvar exactly_once: False for a sink that may write an element again after a failure.
    :cvar seen_after_ms: how long an element waits that is alone in its epoch, until it is written though the epoch goes
        on; None: that may take until the epoch ends. Where writing is exactly once it must take until the checkpoint.
    """

    exactly_once = True
    seen_after_ms: int | None = None

    @abstractmethod
    def sink(self) -> Sink[Any]:
        """The sink under test; its elements are texts."""

    @abstractmethod
    def written(self) -> Sequence[str]:
        """All elements that readers see now which trust committed data only."""

    def left_over(self) -> Sequence[str]:
        """Prepared elements that are neither visible nor aborted."""
        return ()

    def close(self) -> None:
        """Clean up."""


Open = Callable[[], SinkUnderTest]


def check_sink(open_place: Open) -> list[str]:
    """Run all checks; their names.

    :param open_place: makes a new, empty place for each check.
    :raises ConformanceError: with everything that the sink gets wrong.
    """
    return run_all(f"sink {getattr(open_place, '__qualname__', open_place)}", sink_checks(open_place))


def sink_checks(open_place: Open) -> list[Check]:
    """The checks one by one, for ``pytest.mark.parametrize("check", sink_checks(...), ids=str)``."""
    checks = [
        Check("What is written is there after a checkpoint", _in(_plain, open_place)),
        Check("An element alone in a long epoch", _in(_alone, open_place)),
    ]
    checks += [Check(f"A task fails: {_said(point)}", _in(partial(_failing, point), open_place)) for point in Point]
    checks += [
        Check(f"The driver dies: {_said(point)}", _in(partial(_dying, point), open_place)) for point in DriverPoint
    ]
    checks += [
        Check("Tasks run again in the same epoch", _in(_repeated, open_place)),
        Check("Tasks go on elsewhere", _in(_moved, open_place)),
        Check("Other parallelisms go on from a checkpoint", _in(_rescaled, open_place)),
        Check("Writers that were taken for dead go on", _in(_zombies, open_place)),
        Check(BESIDE, _in(_beside, open_place)),
    ]
    checks += [
        Check(f"Failures one after the other, seed {seed}", _in(partial(_many, seed), open_place)) for seed in SEEDS
    ]
    return checks


def _said(point: Point | DriverPoint) -> str:
    return point.name.lower().replace("_", " ")


class _Job:
    """A job that writes elements into one place."""

    def __init__(self, place: SinkUnderTest) -> None:
        self.place = place
        self.elements = [f"element {number:05d}" for number in range(5_000)]
        self.left: list[SinkWriter[Any]] = []
        self._furthest = 0
        self.driver = self.new_driver(2, None)

    def new_driver(self, parallelism: int, checkpointed: bytes | None) -> Driver:
        return Driver(
            pickle.loads(pickle.dumps(self.place.sink().for_operator("checked"))),
            self.elements,
            parallelism=parallelism,
            route=lambda element, parallelism: int(element[-5:]) % parallelism,
            on_kill=self.left.append,
            checkpointed=checkpointed,
            slice_ms=SLICE_MS,
        )

    def epoch(self, count: int = 7, **how: Any) -> None:
        self.driver.epoch(count, **how)

    def checkpoint(self) -> None:
        self.driver.checkpoint()
        self.check()

    def fail(self, point: Point | None, first: int = 0, fresh: bool = False) -> None:
        self.driver.epoch(7, fail=(point, first))
        self.driver.recover(fresh)

    def die(self, point: DriverPoint, parallelism: int = 2) -> None:
        with contextlib.suppress(DriverDied):
            self.driver.checkpoint(point, 1)
        self.driver.forget()
        self._furthest = max(self._furthest, self.driver.furthest)
        self.driver = self.new_driver(parallelism, self.driver.checkpointed)
        if self.driver.checkpointed is None:
            self.driver.begin_anew()

    def check(self) -> None:
        """Compare the place's content right after a checkpoint. Some places show committed data a little later, and an
        unfinished write of a killed task may hide it until the next sweep."""
        wanted, until = Counter(self.elements[: self.driver.position]), time.monotonic() + VISIBLE_SECONDS
        while missing := wanted - (found := Counter(self.place.written())):
            if time.monotonic() < until:
                time.sleep(0.1)
                self.driver.sweep()
                continue
            raise AssertionError(f"{sum(missing.values())} elements are lost, among them {sorted(missing)[:3]}")
        invented = set(found) - set(self.elements[: max(self._furthest, self.driver.furthest)])
        if invented:
            raise AssertionError(f"elements that no checkpoint covers are to be seen: {sorted(invented)[:3]}")
        if self.place.exactly_once and found != wanted:
            raise AssertionError(f"elements are there more than once: {sorted(found - wanted)[:3]}")

    def look(self, writer: SinkWriter[Any]) -> None:
        """Let time pass within the epoch of the next element, and check what is visible."""
        clock, place, element = self.driver.clock, self.place, self.elements[self.driver.position]
        writer.end_slice(clock.now)
        clock.now += LONG_MS if place.seen_after_ms is None else place.seen_after_ms
        writer.end_slice(clock.now)
        if place.exactly_once:
            if element in place.written():
                raise AssertionError("an element is to be seen when a slice ends, though no checkpoint covers it")
        elif place.seen_after_ms is not None:
            until = time.monotonic() + VISIBLE_SECONDS
            while element not in place.written():
                if time.monotonic() >= until:
                    raise AssertionError(
                        f"an element alone is not to be seen after {place.seen_after_ms} ms, while its epoch goes on"
                    )
                time.sleep(0.1)
                writer.end_slice(clock.now)

    def end(self) -> None:
        self.driver.epoch(1, end=True)
        self.driver.checkpoint()
        self.driver.close()
        self.check()
        left = self.place.left_over()
        if left:
            raise AssertionError(f"left behind when the job ended: {sorted(left)[:3]}")

    def close(self) -> None:
        for writer in self.left:
            with contextlib.suppress(Exception):
                writer.close()
        self.driver.forget()
        Driver.killed.clear()


def _in(function: Callable[[_Job], None], open_place: Open) -> Callable[[], None]:
    def run() -> None:
        place = open_place()
        try:
            job = _Job(place)
            try:
                function(job)
                job.end()
            finally:
                job.close()
        finally:
            place.close()

    return run


def _plain(job: _Job) -> None:
    for _ in range(3):
        job.epoch()
        job.epoch(0)
        job.checkpoint()


def _alone(job: _Job) -> None:
    job.epoch()
    job.checkpoint()
    for _ in range(3):
        job.epoch(1, within=job.look)
        job.checkpoint()


def _failing(point: Point, job: _Job) -> None:
    job.epoch()
    for first, fresh in ((0, False), (1, True)):
        job.fail(point, first, fresh)
        job.epoch()
        job.fail(point, first, fresh)
        job.epoch()
        job.checkpoint()
        job.fail(point, first, fresh)
    job.fail(None)


def _dying(point: DriverPoint, job: _Job) -> None:
    for _ in range(2):
        job.epoch()
        job.checkpoint()
        job.epoch()
        job.die(point)
        job.die(point)
        job.epoch()
    job.checkpoint()


def _repeated(job: _Job) -> None:
    for point in Point:
        job.epoch(repeated=point)
        job.epoch()
        job.checkpoint()


def _moved(job: _Job) -> None:
    for moved in ({0}, {1}, {0, 1}):
        job.epoch()
        job.epoch(moved=moved)
        job.checkpoint()


def _rescaled(job: _Job) -> None:
    for parallelism in (3, 1, 2):
        job.epoch()
        job.checkpoint()
        job.epoch()
        job.die(DriverPoint.AFTER_METADATA, parallelism)
        job.epoch()
        job.checkpoint()


def _zombies(job: _Job) -> None:
    for moved in ({0}, {1}, {0, 1}):
        job.epoch()
        job.epoch(moved=moved)
        for writer in job.left[-len(moved) :]:
            _go_on(job, writer)
        job.checkpoint()
        job.driver.sweep()
        job.epoch()


def _beside(job: _Job) -> None:
    """Record and commit each epoch after another step of the next one, and sweep after each step from then on."""
    job.epoch(4)
    for moment in range(2 * STEPS_OF_A_TASK):
        steps = iter(range(2 * STEPS_OF_A_TASK))

        def beside(moment: int = moment, steps: Iterator[int] = steps) -> None:
            step = next(steps)
            if step == moment:
                job.checkpoint()
            if step >= moment:
                job.driver.sweep()

        job.epoch(4, beside=beside, moved={0} if moment % 3 == 1 else ())
        if next(steps, None) is not None:
            raise AssertionError("tasks have fewer steps than were to be seen")
    job.checkpoint()


def _go_on(job: _Job, writer: SinkWriter[Any]) -> None:
    """Let a replaced task continue: readers must see nothing of it or, where duplicates are allowed, nothing that is
    not in the input."""
    with contextlib.suppress(Exception):
        text = STRANGE if job.place.exactly_once else job.elements[0]
        writer.write(text, ElementContext())
        writer.flush(False)
        writer.prepare_commit()
        writer.snapshot_state(job.driver.epochs)


def _many(seed: int, job: _Job) -> None:
    dice = random.Random(seed)
    for _ in range(STEPS):
        what = dice.randrange(6)
        if what <= 1:
            job.epoch(dice.randrange(10), moved=dice.choice([set(), {0}, {1}]))
        elif what == 2:
            job.fail(dice.choice([None, *Point]), dice.randrange(2), dice.random() < 0.5)
        elif what == 3:
            job.die(dice.choice(list(DriverPoint)), dice.randint(1, 3))
        elif what == 4:
            job.checkpoint()
        elif job.left:
            _go_on(job, dice.choice(job.left))
    job.checkpoint()
