"""Plays the part of ``submit.py`` and ``runner.py`` in ``spark/jobs``: the same calls in the same order."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.simulation.faults import DriverDied
from tests.simulation.merging import Merging
from tests.simulation.programs import template

from millrace.checkpoint.directory import CheckpointPlan, JobHome
from millrace.checkpoint.folder import RestoreError, SnapshotError
from millrace.checkpoint.restore import Restore, go_on, restore_from
from millrace.common.jobs import JobStatus
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.runtime.bases.epoch_protocol import EpochPlan
from millrace.runtime.coordination.coordinator import Coordinator, EndedEpoch, EpochResult, JobFailedError
from millrace.runtime.coordination.restart import FixedDelay
from millrace.spark.jobs.requests import BegunSavepoint, SavepointRequest, failed

if TYPE_CHECKING:
    from tests.simulation.world import World

RESTARTS = 100
KEEP = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


@dataclass(frozen=True)
class Submission:
    """What the user submits: a program, and what its job begins with."""

    job_id: str
    parallelism: int
    path: str | None = None
    """a checkpoint, the directory of a job, or a savepoint"""
    claim: bool = False


class Cancelled(Exception):
    """The user does not want the job any more."""


class Driver:
    """One process that runs a job, to its end or its own."""

    def __init__(self, world: World, submission: Submission, lost: bool) -> None:
        """``lost``: an earlier driver of this job has died."""
        self._world = world
        self._submission = submission
        self._lost = lost
        self.saved: str | None = None
        """the savepoint with which the job was stopped"""
        self.status: JobStatus | None = None
        """how the job ended, once that is sure"""
        self.cleaned_up = self.closed = False
        self.epochs = 0
        self._first = True
        """whether no checkpoint was recorded yet"""
        self._begun: list[BegunSavepoint] = []
        """savepoints parts of which are still written"""
        self.merging: Merging | None = None
        """None: tasks write all whole states themselves"""
        self._before: EndedEpoch | None = None
        """the epoch before the running one, until it is recorded and committed"""

    # -- submit -------------------------------------------------------------------------------------------------------

    def submit(self) -> None:
        world, wanted = self._world, self._submission
        made = template(world.program.name, wanted.parallelism, world.on_disk)
        self.job = job = world.placed(replace(made.job, job_id=wanted.job_id))
        plan = CheckpointPlan(world.settings, world.root, KEEP) if world.durable else None
        world.touch("record the job")
        world.recoverable = job.job_id if world.durable else None
        world.touch("record the job, done")
        self.home = JobHome(job.job_id, plan, None if world.durable else world.root)
        self.coordinator = Coordinator(job, world.clock, self.home.storage(), self.home.recorder(world.clock))
        try:
            self._restore = self._begin_with()
            self.coordinator.find_splits()
        except BaseException as error:
            if not self._lost and not isinstance(error, DriverDied):
                self.home.close(JobStatus.FAILED)
            raise
        self._cluster = world.cluster = world.engine(world, job, made.payload, self.home.state)
        if world.merges:
            self.merging = self.coordinator.compactions.whole_states = Merging(world, job, self.home.state)
        self._policy = FixedDelay(RESTARTS, 5)

    def _begin_with(self) -> Restore | None:
        if self._lost and (restore := go_on(self.home.checkpoints, self.coordinator)) is not None:
            self._world.note(f"goes on from {self._world.short(restore.uri)}")
            return restore
        if self._submission.path is None:
            return None
        self._world.note(f"begins with {self._world.short(self._submission.path)}")
        return restore_from(self._submission.path, self.coordinator, False, self._submission.claim)

    # -- run ----------------------------------------------------------------------------------------------------------

    def run(self) -> JobStatus:
        """How the job ended. Raises ``DriverDied``."""
        try:
            self._run_with_restarts()
            status = JobStatus.FINISHED
        except Cancelled:
            status = JobStatus.CANCELED
        except Exception as error:
            self._world.note(f"the job fails: {_short(error)}")
            self._world.check_cause(error)
            status = JobStatus.FAILED
        self._clean_up(status)
        self.closed = True
        return status

    def _run_with_restarts(self) -> None:
        beginning = None if self._restore is None else self._restore.order
        failed = False
        while True:
            try:
                if failed:
                    self._world.touch("restart")
                    self.coordinator.restart()
                    self.coordinator.validate()
                    beginning = None if beginning is None else self.coordinator.repeat(beginning)
                    failed = False
                if self._restore is not None and beginning is not None:
                    self._take_over(self._restore, beginning)
                    beginning = None
                self._run_epochs()
                return
            except Cancelled:
                raise
            except Exception as error:
                delay = self._delay_after(error, failed or beginning is None)
                if delay is None:
                    raise
                failed = True
                self._world.check_cause(error)
                self._world.note(f"restarts after: {_short(error)}")
                self._world.clock.pass_by(delay)

    def _run_epochs(self) -> None:
        try:
            while not self.coordinator.finished:
                self._epoch()
                if self.merging is not None:
                    self.merging.step(1)
                self._finish_savepoints()
            if self.merging is not None:
                self.merging.finish()
            self._finish_savepoints()
        except Exception:
            self._conclude()
            raise

    def _delay_after(self, error: Exception, began: bool) -> int | None:
        if not began and isinstance(error, (JobFailedError, RestoreError, SnapshotError)):
            return None
        return self._policy.on_failure(self._world.clock())

    def _take_over(self, restore: Restore, plan: EpochPlan) -> None:
        self._world.touch("take over")
        self._world.promises.planned(self.job.job_id, plan.epoch)
        self._world.note(f"takes the state over in epoch {plan.epoch}")
        acks = self._cluster.run(plan)
        self._world.touch("taken over")
        self.coordinator.begun(plan, acks)
        self.coordinator.validate()
        restore.compare_states(self.coordinator.states)

    def _epoch(self) -> None:
        world = self._world
        wish = world.wish()
        if wish == "cancel":
            world.note("the user cancels the job")
            raise Cancelled
        if wish is None:
            result = self._run_epoch(None)
        else:
            result = self._run_epoch_with(SavepointRequest(world.savepoint(), stop=wish == "stop"))
        if result is not None:
            self._release(result)

    def _run_epoch(self, savepoint: str | None) -> EpochResult | None:
        """The result of an epoch; None: it will be recorded and committed while the next one runs."""
        world = self._world
        if savepoint is not None:
            self._conclude()
        world.touch("plan")
        plan = self.coordinator.plan(True, savepoint)
        self.coordinator.validate()
        world.promises.planned(self.job.job_id, plan.epoch)
        world.promises.bounded(plan, self.coordinator)
        compacting = [task for task, own in plan.tasks.items() if own.compact]
        compact = f", compact {compacting}" if compacting else ""
        world.note(f"epoch {plan.epoch}{compact}{', savepoint' if savepoint else ''}")
        acks = self._cluster.run(plan, self._conclude)
        if self.merging is not None:
            self.merging.step()
        self._conclude()
        self.epochs += 1
        world.touch("tasks done")
        ended = self.coordinator.end(plan, acks)
        self.coordinator.validate()
        if savepoint is None and self._cluster.overlaps and not ended.last:
            self._before = ended
            return None
        return self._concluded(ended)

    def _conclude(self) -> None:
        """Record and commit the epoch before the running one."""
        ended, self._before = self._before, None
        if ended is not None:
            self._release(self._concluded(ended))

    def _concluded(self, ended: EndedEpoch) -> EpochResult:
        world, epoch = self._world, ended.order.epoch
        result = self.coordinator.conclude(ended)
        self.coordinator.validate()
        world.note(f"epoch {epoch} is complete{'' if result.checkpoint is None else ', a checkpoint'}")
        world.touch("epoch complete")
        if result.checkpoint is not None and world.tidy:
            world.promises.check_leaks(self.home.folder.uri, world.settings.retained, self.coordinator)
        return result

    def _run_epoch_with(self, request: SavepointRequest) -> EpochResult:
        try:
            result = self._run_epoch(request.uri)
            assert result is not None
        except BaseException as error:
            failed(request, self.coordinator, error)
            raise
        self._begun.append(BegunSavepoint(request, self.coordinator, result))
        if request.stop and self.merging is not None:
            self.merging.finish()
        self._finish_savepoints()
        return result

    def _finish_savepoints(self) -> None:
        for begun in [each for each in self._begun if each.done]:
            self._begun.remove(begun)
            begun.finish()
            path = _path_of(begun.request.answer)
            self._world.note("no savepoint" if path is None else f"{self._world.short(path)} is there")
            if begun.request.stop and path is not None:
                self.saved = path

    def _release(self, result: EpochResult) -> None:
        """From its first own checkpoint on the job does not need what it began with."""
        if result.checkpoint is not None and self._first:
            self._first = False
            if self._restore is not None:
                self._world.touch("release")
                self._restore.release()

    def _clean_up(self, status: JobStatus) -> None:
        world = self._world
        for begun in self._begun:
            begun.fail("the job is over")
        with suppress(Exception):
            if status is JobStatus.FINISHED:
                self.coordinator.clean_up()
                self.cleaned_up = True
            else:
                self.coordinator.give_up(self.home.retained_after(status))
        with suppress(Exception):
            self._cluster.close()
            self.coordinator.close()
        world.touch("record the end")
        world.over(self.job.job_id)
        self.status = status
        world.touch("record the end, done")
        self.home.close(status)


def _path_of(answer: Future[str]) -> str | None:
    return None if answer.exception() is not None else answer.result()


def _short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    cause = next((line for line in lines if line.startswith("cause:")), lines[0] if lines else "")
    return f"{type(error).__name__} {cause}".strip()
