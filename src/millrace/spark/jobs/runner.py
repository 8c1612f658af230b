"""Drives a job: runs one epoch after the other, decides when the next one begins, and restarts the job after failures.

A job that fails goes on from its last complete epoch, as often as its restart policy says.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from millrace.activate import is_active
from millrace.checkpoint.directory import JobHome
from millrace.checkpoint.folder import RestoreError, SnapshotError
from millrace.checkpoint.restore import Restore
from millrace.checkpoint.shared_folder import NotSharedError, offer
from millrace.checkpoint.task_storage import JobResults, ResultsLostError
from millrace.common.jobs import JobStatus
from millrace.configuration import own_options as options
from millrace.metrics.reporters.scheduling import Reporters
from millrace.runtime.bases.epoch_protocol import EpochPlan, Result
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, JobFailedError
from millrace.runtime.coordination.restart import spark_attempts, task_retries
from millrace.runtime.failure import Failure, full_traceback
from millrace.runtime.operators import specs
from millrace.runtime.operators.iteration import has_loops
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark import job_records
from millrace.spark.errors import DriverLostError, jvm_answers, reason
from millrace.spark.jobs.beside import Conclusion, MergingProcess
from millrace.spark.jobs.carriers import chosen, make_carrier, not_in_flow, warning_about
from millrace.spark.jobs.client import CollectedParts, JobCancelledError
from millrace.spark.jobs.flow_carrier import LiveOutput
from millrace.spark.jobs.listeners import EpochDone, JobStarted, Late, Restarting, Restored, get_listener
from millrace.spark.jobs.requests import (
    BegunSavepoint,
    CheckpointRequests,
    Queries,
    SavepointRequest,
    Savepoints,
    failed,
)
from millrace.spark.jobs.tasks import Tasks
from millrace.spark.sessions.logs import keep
from millrace.spark.sessions.session import Workplace
from millrace.spark.sessions.settings import one_machine
from millrace.spark.workers.frames import OwnerReport, Request
from millrace.spark.workers.output import OutputListener
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.provision import Provision
from millrace.spark.workers.shipping import ShippedJob, main_classes, output_wanted, spark_directory

if TYPE_CHECKING:
    from millrace.datastream.job_settings import JobSettings


IDLE_SECONDS = 1.0
"""Seconds without a record after which a job counts as idle."""


LOOK_SECONDS = 0.02
"""Seconds between two looks whether the parts of a savepoint are written that the job ends with."""
IDLE_INTERVALS = (0.1, 0.2)
"""The least and the greatest interval in seconds between the epochs of an idle job whose tasks stay between epochs."""
IDLE_INTERVALS_OF_SPARK = (0.6, 2.4)
"""The least and the greatest interval in seconds between the epochs of an idle job that runs each epoch as a job of
Spark, which takes some 150 ms of CPU time."""
QUIET_PART = 0.2
"""The interval of an idle job, as a fraction of the time since its last record: a record waits at most this part of the
pause before it."""


class Pace:
    """Decides when the next epoch begins: an interval after the beginning of the last one, or at once if that took
    longer.

    :param interval: seconds between the beginnings of two epochs.
    :param idle: seconds between the epochs of a job that has just become idle: epochs every few ms would waste a CPU.
    :param longest: seconds that the idle interval grows to, the longer no record comes.
    :param behind: seconds between the epochs of a job that has more to do than one epoch takes; None: ``interval``.
    :param clock: gives seconds.
    """

    def __init__(
        self,
        interval: float,
        idle: float,
        longest: float = 0.0,
        behind: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = interval
        self._idle = max(idle, interval)
        self._longest = max(longest, self._idle)
        self._clock = clock
        self._behind = interval if behind is None else behind
        self._due = self._busy = self._began = clock()

    def left(self) -> float:
        """Seconds until the next epoch is due."""
        return max(0.0, self._due - self._clock())

    def begun(self) -> None:
        """Note that an epoch begins now, and plan when the next one is due."""
        now = self._began = self._clock()
        quiet = now - self._busy
        idle = min(max(self._idle, quiet * QUIET_PART), self._longest)
        self._due = max(self._due + (self._interval if quiet < IDLE_SECONDS else idle), now)

    def ended(self, records: int, more: bool = False, due_in: float | None = None) -> None:
        """Note that the epoch is complete, and move the next one forward if the job is busy.

        :param records: how many records the sources have read in the epoch.
        :param more: whether there is more to do than the epoch took.
        :param due_in: seconds until a timer of the job is due; None: there is none.
        """
        if due_in is not None:
            self._due = min(self._due, self._clock() + max(due_in, self._interval))
        if records or more:
            now = self._busy = self._clock()
            self._due = max(now, self._began + self._behind) if more else min(self._due, now + self._interval)


logger = logging.getLogger("millrace")

_NOT_SHARED = NotSharedError.__name__ + ":"
"""How a ``NotSharedError`` begins in the text of an error that a task has raised."""

EXCEPTIONS = "web.exception-history-size"


class JobRunner:
    """Runs one job from its first epoch to its last."""

    def __init__(
        self,
        job: JobGraph,
        payload: bytes,
        settings: JobSettings,
        coordinator: Coordinator,
        home: JobHome,
        restore: Restore | None = None,
    ) -> None:
        """:param restore: the checkpoint or savepoint that the job begins with; None: the job begins empty."""
        self.job = job
        self.coordinator = coordinator
        self.history = coordinator.history
        if EXCEPTIONS in settings.configuration:
            self.history.keep_failures(int(settings.configuration[EXCEPTIONS]))
        self.collected = CollectedParts()
        self.savepoints = Savepoints(job.job_id, job.name, settings.savepoint_directory)
        self.queries = Queries(coordinator, self._hurry)
        self.checkpoint_requests = CheckpointRequests(coordinator, settings.batch, self._hurry)
        self.settings = settings
        self._payload = payload
        self._home = home
        self._restore = restore
        self._results = JobResults(home.state, coordinator.cleaner)
        self._before = Conclusion(coordinator.conclude)
        """the epoch before the running one, while it is recorded and committed"""
        self._merging: MergingProcess | None = None
        """makes whole states from files; None: the job has only one epoch, or has not begun"""
        self._begun_savepoints: list[BegunSavepoint] = []
        """savepoints of complete epochs that are still written"""
        self._cancelled = threading.Event()
        self._wanted = threading.Event()
        """set when the next epoch shall begin at once, or the running one end soon: a savepoint or a query waits for it
        """
        self._began = False
        """whether the job has a session of Spark"""
        self._execution = settings.epoch_execution
        """the execution mode of the epochs (``millrace.epoch.execution``)"""
        self._web_page: str | None = None
        self._log_file: str | None = None
        self._records = 0
        self._recorded = False
        self._listener = get_listener()
        self._hearing = OutputListener(self._listener.said)
        self._output = output_wanted(settings.configuration)
        self._reporters = Reporters(settings.configuration, job.name, coordinator.report)

    @property
    def log_file(self) -> str | None:
        """The log of the session that the job runs in; None before it has one, and where there is none."""
        return self._log_file

    @property
    def web_page(self) -> str | None:
        """Spark's own page about the application, if there is one."""
        return self._web_page

    @property
    def status(self) -> JobStatus:
        return self.history.status

    @status.setter
    def status(self, status: JobStatus) -> None:
        self.history.enter(status)

    def begin(self, place: Workplace, provision: Provision) -> None:
        """Take over a session; after this ``run`` can go."""
        self._place, self._log_file = place, place.log_file
        self._context = context = place.session.sparkContext
        self._web_page = context.uiWebUrl
        attempts = spark_attempts(context.master, context.getConf().get("spark.task.maxFailures"))
        settings, keeps = self.settings, self._keeps_in_files()
        one_epoch = self._several_epochs() is None
        self._retries = task_retries(settings.restart, settings.regional, one_epoch, attempts)
        shared = self._home.durable or settings.configuration.get(options.STATE_DIRECTORY.key) is not None
        if not shared and not place.local and keeps:
            raise ValueError(
                f"{keeps} on {context.master} in files that all workers reach: set "
                f"{options.STATE_DIRECTORY.key} or execution.checkpointing.dir to such a directory"
            )
        if self._output.lines and one_machine(context.master):
            self._hearing.begin(self._log_file)
        # Collected elements may be too many for acknowledgements; if workers share a directory, they go through that.
        meets = keeps is not None or (shared and self._collects)
        shipped = ShippedJob(
            self.job.job_id,
            self._payload,
            self._home.state.uri,
            main_classes(),
            self.job.key_groups,
            provision.surroundings,
            is_active(),
            offer(self._home.state) if meets and not place.local else None,
            place.local or meets,
            self._retries,
            replace(self._output, driver=self._hearing.address),
        )
        if not one_epoch:
            self._merging = MergingProcess(shipped, spark_directory(), self.job.operators, self._whole_state_made)
            self.coordinator.compactions.whole_states = self._merging
        wanted = options.SPARK_JOBS if settings.batch else settings.epoch_execution
        self._execution = chosen(wanted, place, self.job)
        self._make_carrier = partial(
            make_carrier,
            place=place,
            job=self.job,
            shipped=shipped,
            lasting=not one_epoch,
            python=provision.python,
            cancel_ms=settings.cancellation_timeout_ms,
            epoch_seconds=settings.flow_epoch_ms / 1000,
            bounded=settings.bounded,
            given=LiveOutput(
                self._listener.printed,
                self._collect_early if settings.restart.most_restarts == 0 else None,
                lambda: self.collected.has_room,
                self.coordinator.so_far,
                self._before,
            ),
            ports=settings.flow_ports,
            lease_ms=settings.flow_lease_ms,
        )
        self._tasks = Tasks(
            place,
            self.job,
            shipped,
            self._home,
            self.coordinator.cleaner,
            self._make_carrier(self._execution),
            lasting=not one_epoch,
            shares_files=place.local or meets,
            python=provision.python,
            timeout_ms=settings.epoch_timeout_ms,
            tell=lambda line: self._listener.late(Late(self.job.name, line)),
        )
        if not place.local and not one_epoch and self._execution == options.SPARK_JOBS:
            warning = warning_about(context.getConf().get, exchanges=len(self.job.partitions) > 1)
            if warning is not None:
                logger.warning("job %r: %s", self.job.name, warning)
        self._began = True
        self._reporters.open()

    def _keeps_in_files(self) -> str | None:
        """Say why the job needs files that all workers reach; None: it does not."""
        if any(isinstance(info.spec, specs.FillCache) for info in self.job.operators):
            return "a job with cache() keeps the elements"
        return self._several_epochs()

    @property
    def _collects(self) -> bool:
        return any(isinstance(info.spec, specs.Collect) for info in self.job.operators)

    def _several_epochs(self) -> str | None:
        """Say why the job's tasks are needed after their first epoch; None: they are not."""
        if not self.settings.batch or has_loops(self.job):
            return "a job that runs in several epochs keeps its state"
        for info in self.coordinator.open_ended:
            made = f"operator {info.name!r}, made at {info.origin}"
            return f"{made}, finds splits while others are read: its job runs in several epochs and keeps its state"
        return None

    def run(self) -> None:
        """Run to the end. Raises ``JobFailedError``, ``JobCancelledError`` or ``DriverLostError``."""
        self.status = JobStatus.RUNNING
        self._listener.started(JobStarted(self.job.job_id, self.job.name, self._context.uiWebUrl, self._place.log_file))
        try:
            self._get_ready()
            self._run_with_restarts()
        except DriverLostError as error:
            self._fail(error)
            raise
        except BaseException as error:
            if self._cancelled.is_set():
                self.status = JobStatus.CANCELED
                raise JobCancelledError(f"job {self.job.name!r} ({self.job.job_id}) was cancelled") from None
            named = self._named(error)
            self._fail(named)
            raise named from None
        else:
            self.status = JobStatus.FINISHED
        finally:
            self._clean_up()

    def _get_ready(self) -> None:
        """Get what the epochs need; without it each of them is a job of Spark."""
        self._context.setJobGroup(self.job.job_id, self.job.name, interruptOnCancel=False)
        why = self._tasks.ready(self.coordinator.next_epoch)
        if why is not None and not self._cancelled.is_set():
            logger.warning("%s", not_in_flow(self.job, why))
            self._execution = options.SPARK_JOBS
            self._tasks.carry_by(self._make_carrier(self._execution))

    def _fail(self, error: BaseException) -> None:
        self.history.failed(error, self.coordinator.attempt)
        self.status = JobStatus.FAILING
        self.status = JobStatus.FAILED

    def _run_with_restarts(self) -> None:
        beginning = None if self._restore is None else self._restore.order
        failed = False
        while True:
            try:
                if failed:
                    self.coordinator.restart()
                    beginning = None if beginning is None else self.coordinator.repeat(beginning)
                    failed, self.status = False, JobStatus.RUNNING
                if self._restore is not None and beginning is not None:
                    self._take_over(self._restore, beginning)
                    beginning = None
                self._run_epochs()
                return
            except Exception as error:
                began = failed or beginning is None
                delay = None if self._cancelled.is_set() else self._delay_after(error, began)
                if delay is None:
                    raise
                failed, self.status = True, JobStatus.RESTARTING
                self._wait_for_restart(error, delay)

    def _delay_after(self, error: Exception, began: bool) -> int | None:
        """How long to wait (ms) before the job goes on; None: it has failed."""
        if not jvm_answers(self._context):
            raise DriverLostError(
                f"job {self.job.name!r} lost Spark's JVM. `millrace run` begins again from the last checkpoint"
            ) from error
        if isinstance(error, (NotSharedError, ResultsLostError)) or _NOT_SHARED in str(error):
            return None
        if isinstance(error, JobFailedError) and error.failure.final:
            return None
        if not began and isinstance(error, (JobFailedError, RestoreError, SnapshotError)):
            return None  # another try would find the same state that does not fit
        now = int(time.monotonic() * 1000)
        if self.coordinator.attempt == 0 and isinstance(error, JobFailedError):
            for _ in range(self._retries):  # what the task has had already
                self.settings.restart.on_failure(now)
        return self.settings.restart.on_failure(now)

    def _wait_for_restart(self, error: Exception, delay: int) -> None:
        named = self._named(error)
        self.history.failed(named, self.coordinator.attempt)
        text = _why(named)
        self._listener.restarting(Restarting(self.job.name, text, self.coordinator.attempt + 1, delay))
        if self._cancelled.wait(delay / 1000):
            raise JobCancelledError

    def _clean_up(self) -> None:
        over = f"job {self.job.name!r} is {self.status.name}"
        self._reporters.finish()
        self.savepoints.close(over)
        self.queries.close(over)
        self.checkpoint_requests.close(over)
        begun, self._begun_savepoints = self._begun_savepoints, []
        for savepoint in begun:
            savepoint.fail(over)
        if self._merging is not None:
            self._merging.close()
        with contextlib.suppress(Exception):
            self._tasks.end()  # first: writers let go of what will be taken back
        self._hearing.end()
        with contextlib.suppress(Exception):
            if self._collects:
                self._results.close()
        with contextlib.suppress(Exception):
            if self.status is JobStatus.FINISHED:
                self.coordinator.clean_up()
            elif jvm_answers(self._context):  # else the next driver goes on
                self.coordinator.give_up(self._home.retained_after(self.status))
        with contextlib.suppress(Exception):
            self.coordinator.close()
        self._home.fall_silent()
        # In flow a job may come to its end when its JVM is gone already: no other driver goes on with that one.
        if self.status is JobStatus.FINISHED or jvm_answers(self._context):
            # In this order: a job whose checkpoints are gone must not run again when the driver dies here.
            job_records.record_end(self.job.job_id, self.status.name)
            self._home.close(self.status)
            self.job.state.discard(self.job.job_id)
        self._reporters.close()
        self._listener.ended(self.status)

    def cancel(self) -> None:
        """Stop at once."""
        if self.status.is_globally_terminal_state():
            return
        job_records.record_cancelling(self.job.job_id)
        self.status = JobStatus.CANCELLING
        self._cancelled.set()
        self._wanted.set()
        with contextlib.suppress(Exception):
            self._tasks.cancel()

    def save(self, directory: str | None, stop: bool = False, drain: bool = False) -> Future[str]:
        """Take a savepoint at the end of the next epoch, see ``Savepoints.request``.

        :raises ValueError: the job runs in batch mode, which has no epochs to take one between.
        """
        if self.settings.batch:
            raise ValueError(f"job {self.job.name!r} runs in batch mode, which has no savepoints: use streaming mode")
        answer = self.savepoints.request(directory, stop, drain)
        self._hurry()
        return answer

    def _hurry(self) -> None:
        """Let the running epoch end soon, since a request waits for its end."""
        self._wanted.set()
        if self._began:
            self._tasks.finish()

    def at_work(self) -> str | None:
        """Say in words what the running epoch is doing; None: no epoch runs."""
        running = self.status in (JobStatus.RUNNING, JobStatus.CANCELLING)
        return self._tasks.at_work() if running else None

    def look(self, request: Request) -> list[OwnerReport]:
        """Ask the processes of the job's tasks about their threads; empty before the job runs and after its end."""
        running = self.status in (JobStatus.RUNNING, JobStatus.CANCELLING)
        return self._tasks.look(request) if running else []

    def accumulators(self) -> dict[str, Any]:
        """The user's accumulators by name, and ``millrace.records-read``: how many records the sources have read."""
        return {"millrace.records-read": self._records, **self.coordinator.metrics.accumulators()}

    # -- the beginning --------------------------------------------------------------------------------------------

    def _take_over(self, restore: Restore, plan: EpochPlan) -> None:
        """The tasks take over the state of a checkpoint or savepoint, before anything is read."""
        self._context.setJobGroup(self.job.job_id, self.job.name, interruptOnCancel=False)
        acks = self._tasks.run(plan)
        self.coordinator.begun(plan, acks)
        comparison = restore.compare_states(self.coordinator.states)
        self._listener.restored(Restored(self.job.name, restore.uri, comparison.render()))

    # -- epochs ---------------------------------------------------------------------------------------------------

    def _run_epochs(self) -> None:
        """Run one epoch after the other until the job is finished; epochs of an unbounded job keep its interval."""
        self._context.setJobGroup(self.job.job_id, self.job.name, interruptOnCancel=False)
        flows = self._execution == options.FLOW  # its epochs take their time by themselves
        interval = 0.0 if self.settings.bounded or flows else self.settings.epoch_interval_ms / 1000
        behind = None if self.settings.bounded else min(self.settings.busy_interval_ms / 1000, interval)
        pace = Pace(interval, *self._idle_intervals(interval), behind)
        try:
            while not self.coordinator.finished:
                self._finish_savepoints()
                self._wait(pace)
                pace.begun()
                result = self._epoch(keep_state=not self.settings.batch)
                if result is not None:
                    due_in = None if result.next_due is None else result.next_due / 1000 - time.time()
                    pace.ended(result.records, result.more, due_in)
            for savepoint in list(self._begun_savepoints):
                self._wait_for(savepoint)
        finally:
            self._before.wait()

    def _idle_intervals(self, interval: float) -> tuple[float, float]:
        """Seconds between the epochs of a job to which nothing comes: at first, and at most."""
        if self.settings.bounded or self._execution == options.FLOW:
            return interval, interval
        idle, longest = IDLE_INTERVALS if self._execution == options.RESIDENT else IDLE_INTERVALS_OF_SPARK
        checkpoints = self.settings.checkpoints
        # Checkpoints that hold nothing new come later, too.
        return idle if checkpoints is None else min(idle, checkpoints.settings.interval / 1000), longest

    def _wait(self, pace: Pace) -> None:
        """Wait until the next epoch is due, or a request wants it now. Raises ``JobCancelledError`` if the job is
        cancelled."""
        self._wanted.wait(pace.left())
        self._wanted.clear()
        if self._cancelled.is_set():
            raise JobCancelledError

    def _epoch(self, keep_state: bool) -> EpochResult | None:
        """Run the next epoch, deliver its results, and tell the listener. None: all that follows the acknowledgements
        is done while the next epoch runs."""
        began = time.monotonic()
        request = self.savepoints.next()
        if request is None:
            result = self._run_epoch(keep_state, None)
        else:
            result = self._run_epoch_with(request, keep_state)
        if result is not None:
            self._deliver(result)
            self._tell(result, time.monotonic() - began)
        return result

    def _run_epoch(self, keep_state: bool, savepoint: str | None, drain: bool = False) -> EpochResult | None:
        began = time.monotonic()
        with self.checkpoint_requests.taken() as requests:
            queries = self.queries.waiting()
            plain = savepoint is None and requests.trigger is None and not queries
            if not plain:
                self._before.wait()
            plan = self.coordinator.plan(keep_state, savepoint, queries, requests.trigger, drain)
            if self._collects:
                self._results.begin_epoch(plan.epoch)
            acks = self._tasks.run(plan)
            self._before.wait()
            ended = self.coordinator.end(plan, acks)
            if plain and self._overlaps and not ended.last:
                self._before.begin(ended, partial(self._deliver_late, time.monotonic() - began))
                return None
            result = self.coordinator.conclude(ended)
            requests.answer(result)
        self.queries.answered(queries, result)
        return result

    @property
    def _overlaps(self) -> bool:
        """Whether the next epoch may run while one is recorded and committed. Not if it may have results for the
        program: a slow program would let them pile up."""
        return self._execution == options.FLOW and not self._collects

    def _deliver_late(self, seconds: float, result: EpochResult) -> None:
        self._deliver(result)
        self._tell(result, seconds)

    def _tell(self, result: EpochResult, seconds: float) -> None:
        """Tell the listener that an epoch is complete.

        :param seconds: how long the epoch took.
        """
        if result.checkpoint is not None and not self._recorded:
            self._first_checkpoint()
        self._records += result.records
        rate = result.records / seconds if seconds else 0.0
        lost = self.coordinator.metrics.left_out()
        slow = self.coordinator.figures.slow()
        self._listener.epoch(EpochDone(result, int(seconds * 1000), rate, lost.skipped, lost.late, slow, lost.jumps))

    def _run_epoch_with(self, request: SavepointRequest, keep_state: bool) -> EpochResult:
        """Run an epoch with a savepoint at its end, and answer the request for it."""
        if request.drain:
            self.coordinator.stop()
        try:
            result = self._run_epoch(keep_state, request.uri, request.drain)
            assert result is not None, "the request waits for it"
        except BaseException as error:
            failed(request, self.coordinator, error)
            raise
        savepoint = BegunSavepoint(request, self.coordinator, result)
        self._begun_savepoints.append(savepoint)
        if request.stop:
            self._wait_for(savepoint)
        self._finish_savepoints()
        return result

    def _finish_savepoints(self) -> None:
        """Complete the savepoints all of whose parts are written."""
        for savepoint in [each for each in self._begun_savepoints if each.done]:
            self._begun_savepoints.remove(savepoint)
            savepoint.finish()

    def _wait_for(self, savepoint: BegunSavepoint) -> None:
        """Wait until all parts of a savepoint are written, and complete it.

        :raises JobCancelledError: the job is cancelled meanwhile.
        """
        while not savepoint.done:
            if self._cancelled.wait(LOOK_SECONDS):
                raise JobCancelledError
        self._finish_savepoints()

    def _whole_state_made(self) -> None:
        """Let the running epoch end soon if a request waits for what was made; from any thread."""
        if self._begun_savepoints or self.coordinator.compactions.asked:
            self._hurry()

    def _first_checkpoint(self) -> None:
        """Release the checkpoint or savepoint that the job began with: from its first own checkpoint on the job does
        not need it."""
        self._recorded = True
        if self._restore is not None:
            self._restore.release()

    def _deliver(self, result: EpochResult) -> None:
        if result.printed:
            self._listener.printed(result.printed)
        if self._collects:
            for part in self._results.take(result.collected):
                self.collected.wait_for_room(self._cancelled.is_set)
                self.collected.add(part)

    def _collect_early(self, results: tuple[Result, ...]) -> None:
        """Hand collected elements to the program before their epoch has ended."""
        for part in self._results.parts(results):
            self.collected.add(part)

    def _named(self, error: BaseException) -> BaseException:
        """Turn an error into the short one that the user sees, and write its details into the log file."""
        if isinstance(error, JobFailedError):
            self._log(error.failure.detail)
            return error
        if not isinstance(error, OwnerLostError) and not type(error).__module__.startswith(("py4j", "pyspark")):
            return error
        log = self._log(full_traceback(error))
        where = f"; details: {log}" if log else ""
        failure = Failure(
            operator=self.job.name, subtask=-1, origin="", cause=f"{reason(error)}{where}", detail=str(error)
        )
        return JobFailedError(failure)

    def _log(self, text: str) -> str | None:
        path = self._place.log_file
        if path is not None:
            keep(path)
            with open(path, "a") as file:
                file.write(text + "\n")
        return path


def _why(error: BaseException) -> str:
    """The text of an error without the job's name, for a sentence that says already that the job failed."""
    if isinstance(error, JobFailedError) and not (error.failure.origin or error.failure.during):
        return error.failure.cause
    return str(error)
