"""Which operator is slow: what a record takes each of them, by the last seconds, and whether records wait for it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import ReadsSplits
from millrace.runtime.protocol.epoch import OperatorReport, TaskAck

RECENT_MS = 5_000
MOST = 0.5
"""Part of the time of all operators that one takes which is to blame."""
NOTICED_MILLIS = 1.0
"""What a record takes that a source can be said to wait for, if it has more to read and nothing waits at a gate."""


class SlowOperator(NamedTuple):
    """The operator that the job waits for."""

    operator: int
    name: str
    millis: float
    """that a record takes it"""
    share: float
    """of the time of all operators of the job, 0 to 1"""


class _Epoch(NamedTuple):
    at: int
    work: dict[int, float]
    records: dict[int, int]
    waits: bool


class Costs:
    """Of one job."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._readers = {info.id for info in job.operators if isinstance(info.spec, ReadsSplits)}
        self._recent: deque[_Epoch] = deque()
        self._work = dict.fromkeys(job.by_id, 0.0)
        """operator -> ms that all its subtasks worked in these epochs"""
        self._records = dict.fromkeys(job.by_id, 0)
        """operator -> elements that they were given"""
        self._waiting = 0
        """how many of these epochs ended while something waited at a gate"""
        self._more = False
        """whether a source had more to read at the end of the last one"""

    def take(self, acks: Sequence[TaskAck], now: int) -> None:
        """An epoch is complete (ms)."""
        reports = [report for ack in acks for report in ack.reports]
        work: dict[int, float] = defaultdict(float)
        records: dict[int, int] = defaultdict(int)
        for report in reports:
            work[report.operator] += report.times.work / 1000
            records[report.operator] += self._given(report)
        self._recent.append(_Epoch(now, work, records, any(report.waiting for report in reports)))
        self._count(self._recent[-1], 1)
        self._more = any(report.source is not None and report.source.more for report in reports)
        while len(self._recent) > 1 and self._recent[0].at <= now - RECENT_MS:
            self._count(self._recent.popleft(), -1)

    def _given(self, report: OperatorReport) -> int:
        return report.records_out if report.operator in self._readers else report.records_in

    def _count(self, epoch: _Epoch, sign: int) -> None:
        for operator, millis in epoch.work.items():
            self._work[operator] += sign * millis
            self._records[operator] += sign * epoch.records[operator]
        self._waiting += sign * epoch.waits

    def slow(self) -> SlowOperator | None:
        """The operator that takes most of the time while records wait; None: there is none, or nothing waits."""
        total = sum(self._work.values())
        slowest = max(self._work, key=lambda operator: self._work[operator], default=None)
        if slowest is None or total <= 0 or self._work[slowest] < MOST * total or not self._records[slowest]:
            return None
        millis = self._work[slowest] / self._records[slowest]
        if not self._waiting and not (self._more and millis >= NOTICED_MILLIS):
            return None
        return SlowOperator(slowest, self._job.by_id[slowest].name, millis, self._work[slowest] / total)
