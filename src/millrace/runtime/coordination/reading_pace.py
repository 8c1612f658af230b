"""How much sources read in an epoch: as much as the stages behind them can do in it.

Nobody knows at first what an element costs further down. So the first epoch is short, the next ones follow what the
last has taken, and as long as something waits somewhere nothing new is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import ReadsSplits
from millrace.runtime.protocol.epoch import TaskAck

FIRST_MILLIS, FIRST_PART = 100, 0.1
"""How long sources read in the first epoch of a job: so many ms, or this part of the longest epoch if that is more."""
RISING = 8
"""So many times as many records as the last epoch had, or as long, at most."""
PART = 0.8
"""Part of the time of an epoch that a stage shall need: it may need more than expected."""


class ReadingPace:
    """One job's.

    :param longest: how long a subtask of a source may read in an epoch (ms), and a task may work on what arrives; None:
        there is no limit.
    """

    def __init__(self, job: JobGraph, longest: int | None) -> None:
        self._readers = {info.id for info in job.operators if isinstance(info.spec, ReadsSplits)}
        self._longest = longest
        self.millis = None if longest is None else min(max(FIRST_MILLIS, int(FIRST_PART * longest)), longest)
        """how long a subtask of a source reads in the next epoch"""
        self.records: int | None = None
        """how many records it reads at most"""
        self.waiting = False
        """whether something is waiting for tasks that had no time for it"""
        self._read = 0
        self._worked = 0.0

    @property
    def paused(self) -> bool:
        """Whether sources read nothing."""
        return self._longest is not None and self.waiting

    def ran(self, acks: Sequence[TaskAck]) -> None:
        """An epoch is complete."""
        reports = [report for ack in acks for report in ack.reports]
        self.waiting = any(report.waiting for report in reports)
        if self._longest is None or self.millis is None:
            return
        self._read += max((each.records_out for each in reports if each.operator in self._readers), default=0)
        self._worked += self._slowest(acks)
        if self.waiting or not self._read:
            return
        self.millis = min(RISING * self.millis, self._longest)
        fitting = self._read * PART * self._longest / max(self._worked, 0.001)
        self.records = max(1, int(min(fitting, RISING * self._read)))
        self._read, self._worked = 0, 0.0

    def _slowest(self, acks: Sequence[TaskAck]) -> float:
        """What the slowest task of those behind exchanges has worked (ms). Sources, and what runs in their tasks, have
        their time by the clock."""
        return max((self._work(ack) for ack in acks if ack.stage > 0), default=0.0)

    def _work(self, ack: TaskAck) -> float:
        times = (report.times for report in ack.reports if report.operator not in self._readers)
        return sum(each.work + each.sort for each in times) / 1000


