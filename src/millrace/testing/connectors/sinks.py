"""``check_sink``: tests that every element is written (exactly once if promised), wherever tasks and driver die."""

from __future__ import annotations

import contextlib
import pickle
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from millrace.common.sink import Sink, SinkWriter
from millrace.testing.conformance.checks import Check, run_all
from millrace.testing.connectors.runtime import ElementContext
from millrace.testing.connectors.sink_driver import Driver, DriverDied, DriverPoint, Point

__all__ = ["SinkUnderTest", "check_sink", "sink_checks"]

SEEDS = (1, 2, 3)
STEPS = 25
"""steps of a run with many failures"""
VISIBLE_SECONDS = 20.0
"""time after which a committed element counts as lost if readers do not see it (s)"""
STRANGE = "never to be seen"
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
