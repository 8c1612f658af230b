"""The tasks of a job on Spark: runs all of them for an epoch, watches them, and ends them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from millrace.checkpoint.shared_folder import SharedFolder
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.checkpoints import Cleaner
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.errors import jvm_answers
from millrace.spark.jobs.carriers import Carrier
from millrace.spark.jobs.deadline import ANSWER_SECONDS, Deadline
from millrace.spark.sessions.session import Workplace
from millrace.spark.workers import pipe
from millrace.spark.workers.frames import OwnerReport, Positions, Request
from millrace.spark.workers.inspection import PATIENCE_SECONDS, SCHEMA, Looking, look, parse
from millrace.spark.workers.orders import FinishMarks, Orders
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob
from millrace.spark.workers.stage import Forgetting
from millrace.util.system import is_alive
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from millrace.checkpoint.directory import JobHome

FORGET_SECONDS = 10.0
"""How long the end of a job waits until its owners on other machines have heard of it."""
LOOK_SECONDS = 20.0
"""How long the owners on other machines have to tell what they do."""


class Tasks:
    """Runs a job's tasks, epoch by epoch.

    :param carrier: what brings them their orders.
    :param lasting: whether something of the tasks is needed after their epoch: then they live in owners.
    :param shares_files: whether all workers reach the folder of the job.
    :param python: the interpreter of the workers, None for that of the session.
    :param timeout_ms: how long a task may stand still; None: as long as it likes.
    :param tell: is told what a late epoch is at, on another thread.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        home: JobHome,
        cleaner: Cleaner,
        carrier: Carrier,
        lasting: bool,
        shares_files: bool,
        python: str | None,
        timeout_ms: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._place = place
        self._context = place.session.sparkContext
        self._job = job
        self._orders = Orders(job.partitions, home.state if shares_files else None, cleaner)
        self._marks = FinishMarks(home.state if shares_files else None)
        self._shared = None if shipped.token is None else SharedFolder(home.state)
        self._carrier = carrier
        self._lasting = lasting
        self._python = python
        self._timeout_ms = timeout_ms
        self._tell = tell
        self._epoch: Deadline | None = None
        self._asked_afar: threading.Thread | None = None

    def run(self, plan: EpochPlan) -> list[TaskAck]:
        """Run one epoch.

        :raises EpochTimeoutError: it stood still for too long.
        :raises NotSharedError: driver and tasks do not see one directory.
        """
        carrier = self._carrier
        self._epoch = Deadline(
            plan.epoch,
            self._timeout_ms,
            carrier.break_off,
            carrier.waits_for,
            self._positions,
            self._lives,
            self._tell,
        )
        try:
            with self._epoch:
                self._marks.begin(plan.epoch)
                acks = carrier.run(self._orders.publish(carrier.prepared(plan)), plan.epoch)
        finally:
            self._epoch = None
        if self._shared is not None:
            self._shared.check(ack.first_write for ack in acks)
        return acks

    def at_work(self) -> str | None:
        """What the epoch is at that runs, as it was seen last; None: none runs."""
        epoch = self._epoch
        return None if epoch is None else epoch.line()

    def finish(self) -> None:
        """Let the epoch that runs end soon, from any thread: the next one is waited for."""
        self._marks.finish()
        self._carrier.finish()

    def cancel(self) -> None:
        """End the epoch that runs; no other one will."""
        self._marks.finish()
        self._carrier.cancel()

    def end(self) -> None:
        """The job is over: its owners close the functions, and end."""
        self._marks.close()
        self._orders.close()
        self._carrier.end()
        if not self._lasting or not jvm_answers(self._context):
            return
        if self._place.local:
            pipe.forget(self._job.job_id)
            return
        # Nobody but Spark reaches the other machines, and perhaps not all of them: owners that hear nothing end by
        # themselves, with the application or when they are idle for long.
        messenger = JobThread(target=self._spread_the_word, daemon=True)
        messenger.start()
        messenger.join(FORGET_SECONDS)

    def look(self, request: Request, patience: float = PATIENCE_SECONDS) -> list[OwnerReport]:
        """What the owners tell of their threads, as far as they answer in time. Tasks that run in Spark's workers
        themselves are not seen."""
        job_id = self._job.job_id
        if not self._lasting:
            return []
        if self._place.local:
            return look(job_id, request, patience)
        found: dict[tuple[str, int], OwnerReport] = {}
        messenger = JobThread(target=self._look_afar, args=(request, found), daemon=True)
        self._asked_afar = messenger
        messenger.start()
        messenger.join(LOOK_SECONDS)
        return list(found.values())

    def _positions(self, request: Positions) -> list[OwnerReport]:
        """Where the tasks of the epoch are. On other machines a look needs a free core, so one thread that
        waits for one is enough."""
        if not self._place.local:
            asked = self._asked_afar
            if (asked is not None and asked.is_alive()) or not self._has_free_core():
                return []
        return self.look(request, ANSWER_SECONDS)

    def _has_free_core(self) -> bool:
        tracker = self._context.statusTracker()
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        active = sum(int(stage.numActiveTasks) for stage in stages if stage is not None)
        return active < int(self._context.defaultParallelism)

    def _lives(self, host: str, pid: int) -> bool:
        return self._place.local and is_alive(pid)

    def _look_afar(self, request: Request, found: dict[tuple[str, int], OwnerReport]) -> None:
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
