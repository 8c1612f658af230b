"""Epochs as marks in a stream that never stops (``millrace.epoch.execution: flow``)."""

from __future__ import annotations

import itertools
import os
import threading

from millrace.runtime.coordination.flowing import flowing
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import EpochPlan, TaskAck
from millrace.spark.flow.links import Given, Links
from millrace.spark.flow.placing import Placing
from millrace.spark.owners.pipe import OwnerLostError
from millrace.spark.resident.reception import Reception
from millrace.spark.sessions.session import Workplace
from millrace.spark.sessions.sparing import on_batches
from millrace.spark.shipping.provision import interpreter
from millrace.spark.shipping.shipped import ShippedJob, digest
from millrace.spark.workers.stage import Owners

IDLE_SECONDS = 2.0
"""How long an epoch takes in which nothing comes."""


class Flow:
    """A carrier whose tasks all work at the same time, and are connected with each other.

    :param seconds: how long an epoch takes from its first record on.
    :param bounded: whether the job comes to an end by itself: then its first epoch is aligned.
    :param given: takes what tasks have to show before their epoch ends.
    :param python: the interpreter of the workers, None for that of the session.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        owners: Owners,
        python: str | None,
        seconds: float,
        bounded: bool,
        given: Given,
    ) -> None:
        self._session = place.session
        self._context = place.session.sparkContext
        self._job = job
        self._tasks = [(stage, part) for stage, width in enumerate(job.partitions) for part in range(width)]
        self._number = min(len(os.sched_getaffinity(0)), max(job.partitions))
        self._payload = shipped.encode()
        self._owners = owners
        self._python = python
        self._seconds = seconds
        self._aligned = bounded
        self._given = given
        self._at_once = False
        self._runs = itertools.count(1)
        self._lock = threading.Lock()
        self._links: Links | None = None
        self._reception: Reception | None = None
        self._broken_off = False
        self._cancelled = False

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        order = plan.order
        self._at_once = bool(order.restore or order.savepoint or order.checkpoint or order.queries)
        return flowing(plan, self._aligned and order.restore is None)

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        with self._lock:
            self._broken_off = False
        try:
            links = self._joined(epoch)
            acks = links.run(next(self._runs), text, self._at_once, self._seconds, IDLE_SECONDS)
        except BaseException:
            self._leave()
            raise
        if any(ack.failure is not None for ack in acks):
            self._leave()  # nothing of it is used again
        elif not self._at_once:
            self._aligned = False
        return acks

    def _joined(self, epoch: int) -> Links:
        """The connections. Whatever has died since the last epoch is no failure: its state is in files."""
        if self._links is not None and not self._links.intact():
            self._leave()
        return self._links or self._join(epoch)

    def _join(self, epoch: int) -> Links:
        reception = Reception.of(self._context, [(0, number) for number in range(self._number)])
        with self._lock:
            if self._broken_off or self._cancelled:
                reception.close()
                raise OwnerLostError("no task has been started")
            self._reception = reception
        placing = Placing(
            self._job.job_id,
            self._number,
            epoch,
            reception.address,
            self._payload,
            digest(self._payload),
            self._owners,
        )
        rows = self._session.range(0, 1, 1, 1)
        with interpreter(self._context, self._python), on_batches():
            rows.mapInArrow(placing, "id long").collect()
        found = reception.wait()
        if found is None:
            raise OwnerLostError("the job was broken off before its owners were there")
        links = Links([found[0, number] for number in range(self._number)], self._tasks, self._given)
        with self._lock:
            self._links, self._reception = links, None
            broken_off = self._broken_off or self._cancelled
        if broken_off:
            links.break_off()
        return links

    def waits_for(self) -> str:
        links = self._links
        return "Spark to place the owners of the job" if links is None else links.waits_for()

    def finish(self) -> None:
        with self._lock:
            if self._links is not None:
                self._links.finish()

    def break_off(self) -> None:
        with self._lock:
            self._broken_off = True
            if self._reception is not None:
                self._reception.close()
            if self._links is not None:
                self._links.break_off()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()

    def end(self) -> None:
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            links, self._links = self._links, None
            reception, self._reception = self._reception, None
        if reception is not None:
            reception.close()
        if links is not None:
            links.end()
