"""Submits jobs: ``submit`` makes a running job and its client from a job graph and its settings.

``PortableJob`` is a job that another process can run.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import queue
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millrace.checkpoint.directory import JobHome
from millrace.checkpoint.restore import Restore, go_on, restore_from
from millrace.common.files import store_settings
from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.configuration import own_options as options
from millrace.datastream.job_settings import JobSettings
from millrace.datastream.settings import ClaimMode, restore_settings
from millrace.graph.serialize import serialize
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.checkpoints import CheckpointStats, InBackground
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.failure import JobFailedError
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.specs import Collect
from millrace.spark import job_records
from millrace.spark.job_records import next_id
from millrace.spark.jobs.client import POLL_SECONDS, LocalJobClient
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.sessions.session import workplace
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.workers.provision import install, ship

if TYPE_CHECKING:
    from millrace.metrics.report import MetricsReport


logger = logging.getLogger("millrace")


def submit(job: JobGraph, settings: JobSettings) -> SparkJobClient:
    """Start a job. What can be seen to be wrong before it runs is raised here, before Spark starts.

    The job's threads begin here, and with its settings of object stores.
    """
    with store_settings.within(store_settings.stores_of(settings.configuration)):
        return _submitted(job, settings)


def _submitted(job: JobGraph, settings: JobSettings) -> SparkJobClient:
    checkpoints = settings.checkpoints
    durable = checkpoints is not None and checkpoints.directory is not None
    job = replace(job, job_id=next_id(job.job_id))
    index = job_records.begin_job(job.job_id, settings.restart.configuration if durable else None)
    lost = job_records.recoverable_job(index)
    if lost is not None:
        job = replace(job, job_id=lost.job_id)
    payload = serialize(job.for_tasks())
    state_directory = options.STATE_DIRECTORY.find(settings.configuration)
    trust = _trusts_directories(settings)
    home = JobHome(job.job_id, checkpoints, state_directory, job_records.scratch(), trust)
    if home.durable:
        # Before the first checkpoint: sinks may have committed when the driver dies. Without a checkpoint the job
        # starts from its beginning.
        job_records.record_job(index, job.job_id, home.folder.uri)
    try:
        home.announce()
        coordinator, restore = with_splits(job, settings, home, index, lost is not None)
        runner = JobRunner(job, payload, settings, coordinator, home, restore)
        needs = settings.dependencies
        packages = install(needs.requirements, needs.executable) if needs.requirements is not None else None
        place = workplace(settings.spark, SessionWishes(settings.parallelism, settings.configuration, settings.jars))
        zone = settings.configuration.get("table.local-time-zone", "")
        runner.begin(place, ship(place, needs, packages, settings.paths, "" if zone == "default" else zone))
    except BaseException:
        if lost is None:
            home.close(JobStatus.FAILED)
        raise
    if checkpoints is None and not settings.bounded and not _is_read_here(job):
        logger.warning(
            "job %r runs without checkpoints: if its driver dies, it has to begin anew (enable_checkpointing)", job.name
        )
    client = SparkJobClient(runner)
    client.start()
    return client


def _is_read_here(job: JobGraph) -> bool:
    """Whether this process reads the job's results; these end with the process, so such a job is not recovered."""
    return any(isinstance(info.spec, Collect) for info in job.operators)


def with_splits(
    job: JobGraph, settings: JobSettings, home: JobHome, index: int, lost: bool
) -> tuple[Coordinator, Restore | None]:
    """Make a coordinator whose sources have found their splits, and what the job restores its state from.

    :param lost: whether a driver of the job has died. Then it is not being submitted, but runs: a source that can't be
        asked now, since its server is away, is asked again as the restart strategy says.
    :raises JobFailedError: a source cannot find its splits.
    """
    while True:
        cleaner = InBackground()
        recorder = home.recorder(now_millis, cleaner)
        overlaps = settings.epoch_execution != options.SPARK_JOBS
        coordinator = Coordinator(job, now_millis, home.storage(), recorder, cleaner, one_thread=overlaps)
        restore = _restore(coordinator, home, settings, index, lost)
        try:
            coordinator.find_splits()
            return coordinator, restore
        except JobFailedError as error:
            again = lost and not error.failure.final
            delay = settings.restart.on_failure(int(time.monotonic() * 1000)) if again else None
            if delay is None:
                raise
            with contextlib.suppress(Exception):  # what has not begun may not know how to end
                coordinator.close()
            logger.warning("job %r cannot go on yet, and tries again in %d ms:\n%s", job.name, delay, error)
            time.sleep(delay / 1000)


def _restore(coordinator: Coordinator, home: JobHome, settings: JobSettings, index: int, lost: bool) -> Restore | None:
    """Find the state that the job begins with: its own last checkpoint if its driver died, else what the settings
    name."""
    if lost and (restore := go_on(home.checkpoints, coordinator)) is not None:
        return restore
    wanted = restore_settings(settings.configuration, index)
    if wanted.path is None:
        return None
    if settings.batch:
        raise ValueError(f"batch mode keeps no state, so it can't begin with {wanted.path}: use streaming mode")
    claim = wanted.claim_mode is ClaimMode.CLAIM
    return restore_from(wanted.path, coordinator, wanted.allow_non_restored_state, claim, _trusts_directories(settings))


def _trusts_directories(settings: JobSettings) -> bool:
    """Whether the configuration says that everyone who can write to the state directories may be trusted."""
    return options.STATE_TRUST_DIRECTORY.read(settings.configuration)


class SparkJobClient(LocalJobClient):
    """The client of a streaming program whose tasks run on Spark."""

    def __init__(self, runner: JobRunner) -> None:
        super().__init__(runner.job.job_id)
        self.runner = runner

    def _drive(self) -> None:
        self.runner.run()

    def _status(self) -> JobStatus:
        return self.runner.status

    def _stop(self) -> None:
        self.runner.cancel()

    def stop(self) -> CompletableFuture[Any]:
        """Let the sources end with the next epoch: all event-time timers fire (our addition)."""
        self.runner.coordinator.stop()
        return CompletableFuture(self._ended())

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint and end the job; with ``advance_to_end_of_event_time`` its sources end before, so that
        every event-time timer fires. The future raises ``SavepointError`` if that fails, and the job goes on.
        """
        drain = advance_to_end_of_event_time
        return CompletableFuture(self.runner.save(savepoint_directory, stop=True, drain=drain))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint at the end of the next epoch; the job goes on, also while much state is written. The future
        raises ``SavepointError`` if that fails.
        """
        return CompletableFuture(self.runner.save(savepoint_directory))

    def checkpoint(self, full: bool = False) -> CompletableFuture[int]:
        """Take a checkpoint at the end of the next epoch: its number (our addition). The future raises
        ``CheckpointError`` if that fails.

        :param full: the checkpoint needs no file from before the request. Whole states of much state are made from
            files while the job runs on; the checkpoint is taken when all are there.
        :raises ValueError: the job has no checkpoints.
        """
        return CompletableFuture(self.runner.checkpoint_requests.ask(full))

    def query_state(self, operator: str, state: str, key: Any) -> CompletableFuture[Any]:
        """What a keyed state holds for a key at the end of the next epoch, None for nothing (our addition).

        :param operator: its uid, or its name if no other operator has it.
        :raises StateQueryError: the job has no such operator or state, or is over.
        """
        return CompletableFuture(self.runner.queries.ask(operator, state, key))

    def get_checkpoints(self) -> list[CheckpointStats]:
        """The last checkpoints, oldest first, with their sizes and durations (our addition)."""
        return self.runner.coordinator.log.history()

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.of(self.runner.accumulators())

    def get_metrics(self) -> MetricsReport:
        return self.runner.coordinator.report()

    def collected(self) -> Iterator[Any]:
        """Yield the values of the job's collect sink: at once if a failure would end the job, else when their epoch is
        complete. Raises the job's error at its end."""
        parts = self.runner.collected
        while True:
            try:
                with self.ended_by_ctrl_c():
                    part = parts.take(POLL_SECONDS)
            except queue.Empty:
                if self._result.done() and not parts:
                    break
                continue
            yield from pickle.loads(part)
        self._result.result()


@dataclass(frozen=True)
class PortableJob:
    """The ``Portable`` of a streaming job: its graph and settings, without the session of Spark."""

    job: JobGraph
    settings: JobSettings

    @staticmethod
    def of(job: JobGraph, settings: JobSettings) -> PortableJob:
        """Make the portable form of a job; the session of Spark stays in this process."""
        return PortableJob(job, replace(settings, spark=None))

    @property
    def job_id(self) -> str:
        return self.job.job_id

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def configuration(self) -> Mapping[str, str]:
        return self.settings.configuration

    def start(self) -> SparkJobClient:
        return submit(self.job, self.settings)
