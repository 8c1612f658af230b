"""A state machine that plays a job with failures everywhere, against any two-phase sink."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millrace.common.sink import Committer, Sink
from millrace.testing.connectors.runtime import Clock, ElementContext
from millrace.testing.connectors.sinks import Driver, DriverDied, DriverPoint, Point, by_chance

ELEMENTS = list(range(100_000))
NEVER = 999_999_999_999
"""an element that nobody must ever see"""


class Place(Protocol):
    """Where a sink writes."""

    def sink(self) -> Sink[Any]: ...

    def committed(self) -> list[Any]:
        """What everybody can see."""

    def left_over(self) -> list[str]:
        """What is neither committed nor waits for it."""

    def killed(self, writer: Any, flushed: bool) -> None:
        """The task of this writer was killed, or left behind; before or after its buffers had reached the disk."""

    def close(self) -> None: ...


class ExactlyOnce(RuleBasedStateMachine):
    """Subclasses say which place."""

    haunted = True
    """whether nobody sees what a run writes of which nobody hears; else only killed tasks write, not stopped ones"""

    @staticmethod
    def place_in(directory: Path) -> Place:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="millrace-sink-"))
        self.place = self.place_in(self.directory)
        self.flushed = False
        self.clock = Clock()
        self.jobs = 1
        self.covered = 0
        """input that the last recorded checkpoint covers"""
        self.nobody_told = False
        """whether a driver died of whose job id no later one could know"""

    @initialize(parallelism=st.integers(1, 3), seed=st.integers(0, 1000))
    def begin(self, parallelism: int, seed: int) -> None:
        self.route = by_chance(seed)
        self.driver = self.new_driver(parallelism, None)

    def new_driver(self, parallelism: int, checkpointed: bytes | None) -> Driver:
        sink = self.place.sink().for_operator("the sink")
        return Driver(
            sink,
            ELEMENTS,
            job_id=f"job {self.jobs}",
            parallelism=parallelism,
            clock=self.clock,
            route=self.route,
            on_kill=lambda writer: self.place.killed(writer, self.flushed),
            checkpointed=checkpointed,
            commit_partly=self.commit_partly,
        )

    commit_partly: Callable[[Committer[Any], Sequence[Any], int], None] | None = None
    """as for ``Driver``"""

    @rule(
        count=st.integers(0, 12),
        repeated=st.none() | st.sampled_from(Point),
        moved=st.sets(st.integers(0, 2)),
        flushed=st.booleans(),
    )
    def epoch(self, count: int, repeated: Point | None, moved: set[int], flushed: bool) -> None:
        self.flushed = flushed
        self.driver.epoch(count, repeated=repeated, moved=moved)

    @rule(which=st.integers(0, 20), count=st.integers(0, 3), steps=st.integers(0, 4))
    def somebody_goes_on_of_whom_nobody_hears(self, which: int, count: int, steps: int) -> None:
        """A process that was stopped, the loser of a speculative pair, a task of an executor taken for lost."""
        if not Driver.killed or not self.haunted:
            return
        writer = Driver.killed[which % len(Driver.killed)]
        with contextlib.suppress(Exception):  # nobody hears of that either
            for _ in range(count):
                writer.write(NEVER, ElementContext())
            for step in (lambda: writer.flush(False), writer.prepare_commit, lambda: writer.snapshot_state(0))[:steps]:
                step()
            if steps == 4:
                Driver.killed.remove(writer)
                writer.close()

    @rule(
        count=st.integers(0, 12),
        point=st.none() | st.sampled_from(Point),
        first=st.integers(0, 2),
        acked=st.sets(st.integers(0, 2)),
        fresh=st.booleans(),
        end=st.booleans(),
        flushed=st.booleans(),
    )
    def failing_epoch(
        self, count: int, point: Point | None, first: int, acked: set[int], fresh: bool, end: bool, flushed: bool
    ) -> None:
        self.flushed = flushed
        self.driver.epoch(count, end=end, fail=(point, first), acked=acked)
        self.driver.recover(fresh)

    @rule(sweep=st.booleans())
    def checkpoint(self, sweep: bool) -> None:
        self.driver.checkpoint()
        self.covered = self.driver.position
        if sweep:
            self.driver.sweep()

    @rule(
        point=st.none() | st.sampled_from(DriverPoint),
        committed=st.integers(0, 5),
        parallelism=st.integers(1, 3),
        new_id=st.booleans(),
        again=st.booleans(),
    )
    def driver_dies(
        self, point: DriverPoint | None, committed: int, parallelism: int, new_id: bool, again: bool
    ) -> None:
        if point is not None:
            if point is not DriverPoint.BEFORE_METADATA:
                self.covered = self.driver.position
            try:
                self.driver.checkpoint(point, committed)
            except DriverDied:
                pass
        self.driver.forget()
        checkpointed = self.driver.checkpointed
        self.nobody_told |= new_id or checkpointed is None
        self.jobs += new_id
        self.driver = self.new_driver(parallelism, checkpointed)
        if again:
            self.driver = self.new_driver(parallelism, checkpointed)

    @rule(pause=st.integers(0, 90_000))
    def time_passes(self, pause: int) -> None:
        self.clock.now += pause

    @precondition(lambda self: hasattr(self, "driver"))
    @invariant()
    def committed_is_what_checkpoints_cover(self) -> None:
        self.check()

    def check(self) -> None:
        """The last checkpoint is recorded, and its commit came to its end."""
        assert sorted(self.place.committed()) == ELEMENTS[: self.covered]

    def check_end(self) -> None:
        """All is written that was read."""
        assert sorted(self.place.committed()) == ELEMENTS[: self.driver.position]

    def teardown(self) -> None:
        try:
            if hasattr(self, "driver"):
                self.driver.epoch(1, end=True)
                self.driver.checkpoint()
                self.driver.close()
                self.check_end()
                assert self.nobody_told or not self.place.left_over()
        finally:
            self.place.close()
            shutil.rmtree(self.directory, ignore_errors=True)
            Driver.killed.clear()


def test_case(machine: type[ExactlyOnce]) -> Any:
    """The test of a machine."""
    case = machine.TestCase
    case.settings = settings(stateful_step_count=20)
    return case


test_case.__test__ = False  # type: ignore[attr-defined]
