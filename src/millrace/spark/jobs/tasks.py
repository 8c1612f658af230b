"""The tasks of a job on Spark: one action runs all of them for one epoch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from millrace.checkpoint.files.shared import SharedFolder
from millrace.runtime.coordination.cleaning import Cleaner
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import EpochPlan, TaskAck
from millrace.spark.errors import jvm_answers
from millrace.spark.jobs.deadline import Deadline
from millrace.spark.jobs.plan import anchor, job_plan, plain_input, run_plan
from millrace.spark.owners import pipe
from millrace.spark.owners.frames import Sampling, Stacks, Told
from millrace.spark.owners.looks import look
from millrace.spark.owners.orders import Orders
from millrace.spark.sessions.session import Workplace
from millrace.spark.shipping.provision import interpreter
from millrace.spark.shipping.shipped import ShippedJob
from millrace.spark.workers.looking import SCHEMA, Looking, parse
from millrace.spark.workers.stage import EPOCH_PROPERTY, ORDER_PROPERTY, Forgetting, Owners

if TYPE_CHECKING:
    from millrace.checkpoint.home import JobHome

IDLE_SECONDS = 1_800.0
"""How long owners stay that nobody asks for: those of a job whose driver was lost on another machine."""
FORGET_SECONDS = 10.0
"""How long the end of a job waits until its owners on other machines have heard of it."""
LOOK_SECONDS = 20.0
"""How long the owners on other machines have to tell what they do."""


class Tasks:
    """Runs a job's tasks, epoch by epoch.

    :param lasting: whether something of the tasks is needed after their epoch: then they live in owners.
    :param shares_files: whether all workers reach the folder of the job.
    :param python: the interpreter of the workers, None for that of the session.
    :param timeout_ms: longest time of an epoch; None: no limit.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        home: JobHome,
        cleaner: Cleaner,
        lasting: bool,
        shares_files: bool,
        python: str | None,
        timeout_ms: int | None,
        cancel_ms: int,
    ) -> None:
        self._place = place
        self._context = place.session.sparkContext
        self._job = job
        self._shipped = shipped
        self._orders = Orders(job.partitions, home.state if shares_files else None, cleaner)
        self._shared = None if shipped.token is None else SharedFolder(home.state)
        self._lasting = lasting
        self._python = python
        self._timeout_ms = timeout_ms
        self._cancel_ms = cancel_ms
        self._anchors: dict[int, DataFrame] = {}
        self._running: str | None = None
        self._lock = threading.Lock()
        self._cancelled = False

    def frame(self) -> DataFrame:
        """The plan of all epochs; each is a new query over it, since a query that runs again would answer from the
        shuffle files of its first time."""
        session, job = self._place.session, self._job
        with interpreter(self._context, self._python):
            if not self._lasting or self._place.local:
                return job_plan(plain_input(session, job), job, self._shipped, self._owners())
            for width in set(job.partitions) - set(self._anchors):
                self._anchors[width] = anchor(session, width).persist(StorageLevel.MEMORY_AND_DISK)
                self._anchors[width].count()
            return job_plan(self._anchors[job.partitions[0]], job, self._shipped, self._owners(), self._anchors)

    def _owners(self) -> Owners | None:
        if not self._lasting:
            return None
        if self._place.local:
            cores = self._context.defaultParallelism
        else:
            cores = int(self._context.getConf().get("spark.executor.cores") or 0)
        return Owners(cores, IDLE_SECONDS, self._cancel_ms / 1000)

    def run(self, frame: DataFrame, plan: EpochPlan) -> list[TaskAck]:
        """Run one epoch.

        :raises EpochTimeoutError: it took too long.
        :raises NotSharedError: driver and tasks do not see one directory.
        """
        context = self._context
        context.setLocalProperty(ORDER_PROPERTY, self._orders.publish(plan))
        context.setLocalProperty(EPOCH_PROPERTY, str(plan.epoch))
        tag = f"millrace-{self._job.job_id}-{plan.epoch}"
        try:
            with self._tagged(tag), Deadline(context, tag, plan.epoch, self._timeout_ms):
                acks = run_plan(frame.select("edge", "payload"))
            if self._shared is not None:
                self._shared.check(ack.first_write for ack in acks)
            return acks
        finally:
            for name in (ORDER_PROPERTY, EPOCH_PROPERTY):
                context.setLocalProperty(name, None)  # None unsets it

    @contextlib.contextmanager
    def _tagged(self, tag: str) -> Iterator[None]:
        """What Spark runs inside can be cancelled."""
        self._context.addJobTag(tag)
        with self._lock:
            self._running = tag
            if self._cancelled:
                self._context.cancelJobsWithTag(tag)
        try:
            yield
        finally:
            with self._lock:
                self._running = None
            self._context.removeJobTag(tag)

    def cancel(self) -> None:
        """End the epoch that runs; no other one will."""
        with self._lock:
            self._cancelled = True
            if self._running is not None:
                self._context.cancelJobsWithTag(self._running)

    def end(self) -> None:
        """The job is over: its owners close the functions, and end."""
        self._orders.close()
        if not self._lasting or not jvm_answers(self._context):
            return
        for frame in self._anchors.values():
            with contextlib.suppress(Exception):
                frame.unpersist()
        if self._place.local:
            pipe.forget(self._job.job_id)
            return
        # Nobody but Spark reaches the other machines, and perhaps not all of them: owners that hear nothing end by
        # themselves, with the application or when they are idle for long.
        messenger = threading.Thread(target=self._spread_the_word, daemon=True)
        messenger.start()
        messenger.join(FORGET_SECONDS)

    def look(self, request: Stacks | Sampling) -> list[Told]:
        """What the owners tell of their threads, as far as they answer in time. Tasks that run in Spark's workers
        themselves are not seen."""
        job_id = self._job.job_id
        if not self._lasting:
            return []
        if self._place.local:
            return look(job_id, request)
        found: dict[tuple[str, int], Told] = {}
        messenger = threading.Thread(target=self._look_afar, args=(request, found), daemon=True)
        messenger.start()
        messenger.join(LOOK_SECONDS)
        return list(found.values())

    def _look_afar(self, request: Stacks | Sampling, found: dict[tuple[str, int], Told]) -> None:
        """By way of Spark, which has to have a free core on each machine."""
        with contextlib.suppress(Exception):
            width = 2 * max(self._context.defaultParallelism, 1)
            rows = self._place.session.range(0, width, 1, width)
            with interpreter(self._context, self._python):
                frame = rows.mapInArrow(Looking(self._job.job_id, request), SCHEMA)
                for row in frame.collect():
                    told = parse(row["told"])
                    found[told.host, told.pid] = told

    def _spread_the_word(self) -> None:
        with contextlib.suppress(Exception):
            width = 2 * max(self._context.defaultParallelism, 1)
            rows = self._place.session.range(0, width, 1, width)
            with interpreter(self._context, self._python):
                rows.mapInArrow(Forgetting(self._job.job_id), "id long").count()
