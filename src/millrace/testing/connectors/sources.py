"""``check_source``: tests that a source emits every record once, whatever happens to its readers.

``SourceJob`` runs the source in a job of its own: long-lived readers, checkpoints, crashes, other parallelisms.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.source import Boundedness, InputStatus, Source, SourceReader
from millrace.testing.conformance.checks import Check, run_all
from millrace.testing.connectors.runtime import Clock, Collected, EnumeratorContext, ReaderContext

__all__ = ["SourceUnderTest", "check_source", "source_checks"]

POLLS = 50
"""polls of one reader in an epoch, at most"""


@dataclass(frozen=True)
class Checkpoint:
    """The remains of a job: pickled state, and the elements that were emitted before it."""

    state: bytes
    emitted: tuple[Any, ...]


class SourceJob:
    """One life of a job that reads a source.

    :param checkpoint: the checkpoint to restore from; None: a fresh start. Its splits are assigned again.
    """

    def __init__(self, source: Source[Any, Any], parallelism: int = 1, checkpoint: Checkpoint | None = None) -> None:
        self._clock = Clock()
        self._parallelism = parallelism
        source = pickle.loads(pickle.dumps(source))
        planned, splits = (None, []) if checkpoint is None else pickle.loads(checkpoint.state)
        self.emitted: list[Any] = [] if checkpoint is None else list(checkpoint.emitted)
        self._epoch = 0
        self._context = EnumeratorContext(parallelism, self._clock)
        self._enumerator = source.create_enumerator(self._context, planned)
        self._contexts = [ReaderContext(subtask, parallelism, self._clock) for subtask in range(parallelism)]
        self._readers = [source.create_reader(context) for context in self._contexts]
        self._ended = [False] * parallelism
        self._told: set[int] = set()
        self._recorded: int | None = None
        self._enumerator.start()
        for subtask, reader in enumerate(self._readers):
            reader.start()
            share = splits[subtask::parallelism]
            if share:
                reader.add_splits(share)

    @property
    def ended(self) -> bool:
        return all(self._ended)

    def epoch(self, polls: int = POLLS) -> int:
        """Plan, then let every reader poll; returns the number of emitted elements."""
        self._epoch += 1
        self._plan()
        outputs = [Collected() for _ in self._readers]
        for subtask, reader in enumerate(self._readers):
            if self._recorded is not None:
                reader.notify_checkpoint_complete(self._recorded)
            for _ in range(polls):
                if self._ended[subtask]:
                    break
                status = reader.poll_next(outputs[subtask])
                self._ended[subtask] = status is InputStatus.END_OF_INPUT
                if status is not InputStatus.MORE_AVAILABLE:
                    break
            reader.end_epoch(outputs[subtask], self._epoch)
        self._recorded = None
        found = [record for output in outputs for record in output.records]
        self.emitted += found
        return len(found)

    def checkpoint(self) -> Checkpoint:
        """Take a checkpoint; readers are notified with the next epoch."""
        planned = self._enumerator.snapshot_state(self._epoch)
        splits = [split for reader in self._readers for split in reader.snapshot_state(self._epoch)]
        for reader in self._readers:
            reader.snapshot_taken()
        self._recorded = self._epoch
        return Checkpoint(pickle.dumps((planned, splits)), tuple(self.emitted))

    def leave(self) -> list[SourceReader[Any, Any]]:
        """Drop the readers without closing them, so that they may continue. The enumerator ends."""
        readers, self._readers = self._readers, []
        self._enumerator.close()
        return readers

    def close(self) -> None:
        for reader in self.leave():
            reader.close()

    def _plan(self) -> None:
        for subtask, told in enumerate(self._contexts):
            events, told.events = told.events, []
            for event in events:
                self._enumerator.handle_source_event(subtask, event)
        assigned = -1
        while assigned != (assigned := sum(map(len, self._context.assigned.values()))):
            for subtask in range(self._parallelism):
                self._enumerator.handle_split_request(subtask)
        news, self._context.events = self._context.events, []
        for subtask, event in news:
            self._readers[subtask].handle_source_events(event)
        for subtask, splits in self._context.assigned.items():
            self._readers[subtask].add_splits(pickle.loads(pickle.dumps(splits)))
        self._context.assigned.clear()
        for subtask in self._context.no_more - self._told:
            self._readers[subtask].notify_no_more_splits()
        self._told |= self._context.no_more


def haunt(readers: list[SourceReader[Any, Any]], polls: int = 5) -> None:
    """Let dropped readers continue for a while, then end them."""
    for reader in readers:
        with contextlib.suppress(Exception):
            for _ in range(polls):
                reader.poll_next(Collected())
        with contextlib.suppress(Exception):
            reader.close()


DEADLINE_SECONDS = 60.0
"""How long a check waits for records."""
LONGEST_POLL_SECONDS = 2.0
"""Polls must not block; connectors wait some milliseconds for data."""
ENOUGH = 120
"""number of records in a check"""


class SourceUnderTest(ABC):
    """A place that a source reads: a topic, a queue, a table. Every check makes one of its own.

    :cvar exactly_once: False for a source that promises only that no record is lost.
    :cvar replays: whether records can be read again from an older checkpoint, as from a log; False for queues, which
        forget what was acknowledged.
    :cvar after_failure: False for sources that promise nothing when they fail, as pub/sub: only the checks without
        failures are run.
    """

    exactly_once = True
    replays = True
    after_failure = True

    @abstractmethod
    def source(self) -> Source[Any, Any]:
        """The source; it emits the texts that were put."""

    @abstractmethod
    def put(self, elements: Sequence[str]) -> None:
        """Write records to the place, so that the source can read them."""

    def poison(self) -> str | None:
        """Write what the source cannot read. Gives a part of the error that is expected; None: there is no such
        thing."""
        return None

    def close(self) -> None:
        """Clean up."""


Open = Callable[[], SourceUnderTest]


def check_source(open_place: Open) -> list[str]:
    """Run all checks; their names.

    :param open_place: makes a new, empty place for each check.
    :raises ConformanceError: with everything that the source gets wrong.
    """
    return run_all(f"source {getattr(open_place, '__qualname__', open_place)}", source_checks(open_place))


def source_checks(open_place: Open) -> list[Check]:
    """The checks one by one, for ``pytest.mark.parametrize("check", source_checks(...), ids=str)``."""
    functions = (
        _all, _parallel, _later, _idle, _crashes, _crashes_twice, _zombies, _rescaled, _replayed, _poisoned, _threads
    )  # fmt: skip
    return [Check((function.__doc__ or "").rstrip("."), _in(function, open_place)) for function in functions]


def _in(function: Callable[[SourceUnderTest], None], open_place: Open) -> Callable[[], None]:
    def run() -> None:
        place = open_place()
        if not place.after_failure and function in _WITH_FAILURES:
            place.close()
            return
        try:
            function(place)
        finally:
            place.close()

    return run


def _texts(begin: int, end: int) -> list[str]:
    return [f"record {number:05d}" for number in range(begin, end)]


def _until(job: SourceJob, count: int) -> None:
    """Run epochs until this many different elements were emitted."""
    until = time.monotonic() + DEADLINE_SECONDS
    while len(set(job.emitted)) < count and not job.ended:
        job.epoch()
        if time.monotonic() > until:
            raise AssertionError(f"{len(set(job.emitted))} of {count} records came within {DEADLINE_SECONDS:g} s")


def _right(place: SourceUnderTest, emitted: Sequence[Any], wanted: Sequence[str]) -> None:
    found, expected = Counter(emitted), Counter(wanted)
    missing, more = expected - found, found - expected
    if missing:
        raise AssertionError(f"{sum(missing.values())} records were lost, among them {sorted(missing)[:3]}")
    invented = set(more) - set(expected)
    if invented:
        raise AssertionError(f"{len(invented)} records were never put, among them {sorted(map(repr, invented))[:3]}")
    if more and place.exactly_once:
        raise AssertionError(f"{sum(more.values())} records came more than once, among them {sorted(more)[:3]}")


def _started(place: SourceUnderTest, parallelism: int = 1) -> SourceJob:
    """Start a job that reads. Sources without a memory emit only records that arrive after that."""
    job = SourceJob(place.source(), parallelism)
    if not place.after_failure:
        for _ in range(3):
            job.epoch()
            time.sleep(0.1)
    return job


def _all(place: SourceUnderTest) -> None:
    """Everything that is there is read."""
    job = _started(place)
    place.put(_texts(0, ENOUGH))
    _until(job, ENOUGH)
    job.close()
    _right(place, job.emitted, _texts(0, ENOUGH))


def _parallel(place: SourceUnderTest) -> None:
    """Three readers share the records."""
    job = _started(place, 3)
    place.put(_texts(0, ENOUGH))
    _until(job, ENOUGH)
    job.epoch()
    job.close()
    _right(place, job.emitted, _texts(0, ENOUGH))


def _later(place: SourceUnderTest) -> None:
    """Records that come a few at a time are read, checkpoint after checkpoint."""
    if _bounded(place):
        return
    job = _started(place)
    for at in range(0, ENOUGH, 10):
        place.put(_texts(at, at + 10))
        job.epoch()
        job.checkpoint()
    _until(job, ENOUGH)
    job.close()
    _right(place, job.emitted, _texts(0, ENOUGH))


def _idle(place: SourceUnderTest) -> None:
    """A poll does not wait for records."""
    if _bounded(place):
        return
    job = _started(place, 2)
    job.epoch()
    begin = time.monotonic()
    job.epoch(polls=1)
    took = time.monotonic() - begin
    if took > 2 * LONGEST_POLL_SECONDS:
        raise AssertionError(f"two polls without anything to read took {took:.1f} s")
    if job.ended:
        raise AssertionError("a source that says it is unbounded has ended")
    place.put(_texts(0, 10))
    _until(job, 10)
    job.close()
    _right(place, job.emitted, _texts(0, 10))


def _run_with_crashes(place: SourceUnderTest, times: int) -> None:
    checkpoint: Checkpoint | None = None
    for at in range(0, ENOUGH, 20):
        place.put(_texts(at, at + 20))
        for turn in range(times + 1):
            job = SourceJob(place.source(), 1, checkpoint)
            before = len(job.emitted)
            job.epoch(polls=3)
            if turn < times:
                # What this epoch read counts for nothing: it dies before its checkpoint.
                job.close()
                continue
            _until(job, at + 10)
            checkpoint = job.checkpoint()
            if (at // 20) % 2:
                job.epoch(polls=3)  # hears of its checkpoint, and reads on in vain
            assert len(checkpoint.emitted) >= before
            job.close()
    job = SourceJob(place.source(), 1, checkpoint)
    _until(job, ENOUGH)
    job.epoch()
    job.close()
    _right(place, job.emitted, _texts(0, ENOUGH))


def _crashes(place: SourceUnderTest) -> None:
    """A crash before and after each checkpoint loses and doubles nothing."""
    _run_with_crashes(place, 1)


def _crashes_twice(place: SourceUnderTest) -> None:
    """Nor do two crashes one after the other."""
    _run_with_crashes(place, 2)


def _zombies(place: SourceUnderTest) -> None:
    """Readers that were taken for dead go on for a while, beside those in their place."""
    checkpoint: Checkpoint | None = None
    left: list[Any] = []
    for at in range(0, ENOUGH, 20):
        place.put(_texts(at, at + 20))
        job = SourceJob(place.source(), 1, checkpoint)
        job.epoch(polls=3)
        haunt(left)
        _until(job, at + 5)
        checkpoint = job.checkpoint()
        job.epoch(polls=3)
        left = job.leave()
    haunt(left)
    job = SourceJob(place.source(), 1, checkpoint)
    _until(job, ENOUGH)
    job.epoch()
    job.close()
    _right(place, job.emitted, _texts(0, ENOUGH))


def _rescaled(place: SourceUnderTest) -> None:
    """A checkpoint is gone on from with more readers, and with fewer."""
    checkpoint: Checkpoint | None = None
    for number, parallelism in enumerate((1, 3, 2, 1)):
        place.put(_texts(number * 30, number * 30 + 30))
        job = SourceJob(place.source(), parallelism, checkpoint)
        _until(job, number * 30 + 15)
        checkpoint = job.checkpoint()
        job.close()
    job = SourceJob(place.source(), 2, checkpoint)
    _until(job, 120)
    job.epoch()
    job.close()
    _right(place, job.emitted, _texts(0, 120))


def _replayed(place: SourceUnderTest) -> None:
    """An older checkpoint gives the same records again."""
    place.put(_texts(0, ENOUGH // 2))
    job = SourceJob(place.source(), 2)
    _until(job, ENOUGH // 4)
    older = job.checkpoint()
    place.put(_texts(ENOUGH // 2, ENOUGH))
    _until(job, ENOUGH // 2)
    job.checkpoint()
    job.epoch()
    job.close()
    if not place.replays:
        return
    again = SourceJob(place.source(), 2, older)
    _until(again, ENOUGH)
    again.close()
    _right(place, again.emitted, _texts(0, ENOUGH))


def _poisoned(place: SourceUnderTest) -> None:
    """What cannot be read fails the job with an error that says where it lies."""
    job = _started(place)
    place.put(_texts(0, 5))
    expected = place.poison()
    if expected is None:
        job.close()
        return
    until = time.monotonic() + DEADLINE_SECONDS
    try:
        while time.monotonic() < until:
            job.epoch()
    except Exception as error:
        if expected not in str(error):
            raise AssertionError(f"the error does not say {expected!r}: {error}") from error
        return
    finally:
        job.close()
    raise AssertionError("a record that cannot be read was passed over in silence")


def _threads(place: SourceUnderTest) -> None:
    """Readers that are closed leave no threads behind."""
    before = set(threading.enumerate())
    source = pickle.loads(pickle.dumps(place.source()))
    place.put(_texts(0, 5))
    job = SourceJob(source, 2)
    job.epoch()
    job.close()
    until = time.monotonic() + DEADLINE_SECONDS
    while left := [each for each in set(threading.enumerate()) - before if each.is_alive()]:
        if time.monotonic() > until:
            raise AssertionError(f"threads that go on after close(): {sorted(each.name for each in left)}")
        time.sleep(0.02)


def _bounded(place: SourceUnderTest) -> bool:
    return place.source().get_boundedness() is Boundedness.BOUNDED


_WITH_FAILURES = (_crashes, _crashes_twice, _zombies, _rescaled, _replayed)
