"""Runs a world from its beginning to its end: drivers, users who change their minds, and the final account."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from unittest.mock import patch
from uuid import UUID

from tests.simulation import current
from tests.simulation.damage import DamagedWorld, Named
from tests.simulation.driver import Driver, Submission
from tests.simulation.faults import DriverDied, Violation
from tests.simulation.flow_cluster import FlowCluster
from tests.simulation.programs import PROGRAMS
from tests.simulation.world import World

from millrace.checkpoint import directory, merging, restore, snapshot_files
from millrace.common.jobs import JobStatus
from millrace.connectors.file_system import file_committer, file_writer, part_files
from millrace.connectors.file_system.part_files import is_of
from millrace.connectors.sink_base import owner_of
from millrace.runtime.coordination import checkpoints, commits, compactions, coordinator, snapshot
from millrace.runtime.operators import sinks, source
from millrace.runtime.state.disk.state import DiskState
from millrace.runtime.tasks import task_figures, wiring
from millrace.spark.jobs import requests
from millrace.spark.workers import orders

MOST_DRIVERS = 60
FOLDERS = (directory, restore, snapshot_files, requests)
"""Modules that open folders by their URIs."""
MEASURING = (source, task_figures, wiring)
"""Modules whose pieces, or what is read by what they take, would depend on the time that this takes."""
LOGGING = (checkpoints, commits, compactions, file_committer, directory, restore, sinks)


@dataclass(frozen=True)
class Report:
    """How a simulation went."""

    seed: int
    program: str
    problem: str | None
    trace: tuple[str, ...]
    faults: Counter[tuple[str, str]]
    """(kind, where) -> how often"""
    flow: bool = False
    """whether tasks were in flow"""
    endings: int = 0
    """how many epochs of tasks had to end in the middle of something"""

    def render(self) -> str:
        """All that there is to say about a failure."""
        lines = [f"seed {self.seed}, program {self.program}", *self.trace, f"-> {self.problem or 'all promises kept'}"]
        flow = " --flow" if self.flow else ""
        return "\n".join([*lines, f"replay: python -m tests.simulation {self.seed}{flow} --trace"])


def simulate(seed: int, program: str | None = None) -> Report:
    """Everything that happens follows from the seed (and the program, which the seed chooses if none is given)."""
    return _run(World(seed, program))


FLOW_PROGRAMS = sorted(PROGRAMS.keys() - {"loop"})
"""Loops are not in flow."""


def simulate_flow(seed: int, program: str | None = None) -> Report:
    """The same with tasks in flow."""
    world = World(seed, program or Random(f"{seed}: program in flow").choice(FLOW_PROGRAMS))
    world.engine = FlowCluster
    return _run(world)


def simulate_fault(seed: int, fault: tuple[str, str], program: str | None = None) -> Report:
    """The same, and this fault is among what goes wrong if there is any opportunity for it."""
    world = World(seed, program)
    world.chances.expect(fault)
    return _run(world)


def simulate_calm(seed: int, program: str | None = None) -> Report:
    """The same without any fault, and nobody intervenes."""
    world = World(seed, program)
    world.chances.none()
    world.endings.forbid()
    world.wishes = 0
    return _run(world)


def simulate_damage(seed: int, program: str | None = None) -> Report:
    """The same with a file that is lost or damaged, and nothing else."""
    return _run(DamagedWorld(seed, program))


def _run(world: World) -> Report:
    problem = None
    with _inside(world):
        try:
            _Story(world).tell()
        except Violation as violation:
            problem = str(violation)
        except Named:
            world.note("the job has named the file")
    happened, endings = +world.chances.happened, world.endings.happened
    flow = world.engine is FlowCluster
    return Report(world.seed, world.program.name, problem, tuple(world.trace), happened, flow, endings)


@contextmanager
def _inside(world: World) -> Iterator[None]:
    """Files lie on the disk of the world, and state is compacted as often as it says."""
    replaced = [patch.object(module, "open_folder", world.disk.open) for module in FOLDERS]
    replaced.append(patch.object(snapshot, "COMPACT_BYTES", world.compact_bytes))
    replaced.append(patch.object(snapshot, "COMPACT_VERSIONS", world.compact_versions))
    replaced.append(patch.object(coordinator, "SWEEP_MS", world.sweeps))
    replaced.append(patch.object(compactions, "SMALL_BYTES", world.small))
    replaced.append(patch.object(merging, "RANGE_BYTES", 300))
    replaced += [
        patch.object(module, "part_store", lambda root: world.parts)
        for module in (file_committer, part_files, file_writer)
    ]
    replaced.append(patch.object(file_writer, "uuid", _Serial(world)))
    replaced += [patch.object(module.logger, "disabled", True) for module in LOGGING]
    replaced.append(patch.object(orders, "INLINE", world.inline))
    replaced += [patch.object(module, "perf_counter_ns", world.endings.clock) for module in MEASURING]
    if world.on_disk:
        world.local = tempfile.mkdtemp(prefix="millrace-simulation-")
        replaced.append(patch.object(DiskState, "_write", _dying(world, DiskState._write)))
    current.enter(world)
    for change in replaced:
        change.start()
    try:
        yield
    finally:
        for change in replaced:
            change.stop()
        current.leave()
        if world.local:
            shutil.rmtree(world.local)


def _dying(world: World, write: Callable[..., None]) -> Callable[..., None]:
    """A worker may die before and after it has written to its local disk; what it writes is there as a whole."""

    def dying(working: DiskState, *given: Any) -> None:
        world.touch("write local state")
        write(working, *given)
        world.touch("write local state, done")

    return dying


class _Serial:
    """In the place of ``uuid``: numbers in their order, so that a seed says it all."""

    def __init__(self, world: World) -> None:
        self._world = world

    def uuid4(self) -> UUID:
        return UUID(int=self._world.serial() << 84)


class _Story:
    """What becomes of a program that is submitted once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._jobs = 0
        self._taken_over = False
        """whether some job began with the state of another"""

    def tell(self) -> None:
        submission = Submission(self._new_id(), 2)
        lost = False
        for _ in range(MOST_DRIVERS):
            driver = Driver(self._world, submission, lost)
            status = self._life_of(driver)
            if status is JobStatus.FINISHED and driver.saved is None:
                self._settle(driver)
                return
            if status is None and self._world.recoverable == submission.job_id:
                lost = True
                submission = self._maybe_rescaled(submission, 0.1)
                continue
            if not self._world.durable:
                return  # nothing is left of it
            lost = False
            path = submission.path if status is None else driver.saved or self._last_of(submission)
            claim = self._world.random.random() < 0.5
            submission = self._maybe_rescaled(Submission(self._new_id(), submission.parallelism, path, claim), 0.5)
            self._taken_over |= path is not None
        raise Violation(f"not at its end after {MOST_DRIVERS} drivers")

    def _new_id(self) -> str:
        self._jobs += 1
        return f"{self._jobs:032x}"

    def _maybe_rescaled(self, submission: Submission, probability: float) -> Submission:
        random = self._world.random
        if not self._world.durable or random.random() >= probability:
            return submission
        self._taken_over = True
        return replace(submission, parallelism=random.choice((1, 2, 3)))

    def _life_of(self, driver: Driver) -> JobStatus | None:
        """How the job ended; None: its driver died."""
        world = self._world
        world.note("a driver starts")
        try:
            try:
                driver.submit()
            except Exception as error:
                world.note(f"it can't submit the job: {type(error).__name__}: {error}")
                world.check_cause(error)
                world.over(driver.job.job_id)
                return JobStatus.FAILED
            status = driver.run()
            world.note(f"the job is {status.name}")
            return status
        except DriverDied:
            if driver.merging is not None:
                driver.merging.driver_died()
            world.clock.pass_by(50)
            return driver.status if world.recoverable is None else None

    def _last_of(self, submission: Submission) -> str | None:
        """Where the user finds something to go on from after a failure or a cancellation."""
        root = f"{self._world.root}/{submission.job_id}"
        if any(path.startswith(f"{root}/chk-") for path in self._world.disk.files):
            return root
        return submission.path

    def _settle(self, driver: Driver) -> None:
        """The job has finished: was everything seen once, and is everything tidied up?"""
        world, program = self._world, self._world.program
        if world.ledger.counts != program.expected:
            lost = program.expected - world.ledger.counts
            raise Violation(f"{sum(lost.values())} records are lost: {sorted(lost.elements(), key=repr)[:10]}")
        if unseen := program.plain - world.plain.keys():
            raise Violation(f"the plain sink never saw {sorted(unseen, key=repr)[:10]}")
        seen = driver.coordinator.metrics.accumulators().get("seen")
        if not self._taken_over and driver.epochs and seen != program.seen:
            raise Violation(f"the accumulator has counted {seen} elements instead of {program.seen}")
        world.parts.check_visible()
        if driver.cleaned_up:
            self._check_sinks(driver.job.job_id)
        job = f"{world.root}/{driver.job.job_id}/"
        left = [path for path in world.disk.files if path.startswith(job) and path not in world.haunted]
        if left and world.tidy and driver.closed:
            raise Violation(f"files are left: {left[:5]}")

    def _check_sinks(self, job_id: str) -> None:
        world = self._world
        mine = tuple(owner_of(job_id, uid) for uid in ("ledger", "parts"))
        prepared = world.ledger.prepared.keys() - world.ledger.haunted
        hidden = [path for path in world.parts.hidden() if is_of(mine[1], path)]
        left = sorted([name for name in prepared if name.startswith(mine)] + hidden)
        if left:
            raise Violation(f"sinks have things left that will never be seen: {left[:5]}")
