"""The marks at the end of an epoch, gathered for the tasks of an owner: a task hears of an edge when all its senders
have ended, or a thousand of them would wake it a thousand times."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from millrace.runtime.exchange.flow_writer import EpochMark
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.tasks.flow import FlowError

Receiver = tuple[int, int]
"""(edge, partition of its target's stage)"""


class Marks:
    """Of all edges of a job. Any thread may add some."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._gathered: dict[tuple[Receiver, int], list[EpochMark]] = {}
        """(receiver, run) -> its marks so far"""
        self._senders: dict[Receiver, int] = {}
        """how many marks a receiver gets in an epoch"""
        self._latest: dict[Receiver, int] = {}
        """the run of which a receiver has all marks"""

    def add(self, marks: Iterable[EpochMark]) -> list[list[EpochMark]]:
        """Some that have come; those of the receivers that have all of an epoch now.

        :raises FlowError: one is of an epoch that has ended.
        """
        whole = []
        with self._lock:
            for mark in marks:
                receiver = mark.edge, mark.target
                if mark.run <= self._latest.get(receiver, 0):
                    raise FlowError(f"a mark of run {mark.run} has come over edge {mark.edge}, which has ended")
                gathered = self._gathered.setdefault((receiver, mark.run), [])
                gathered.append(mark)
                if len(gathered) >= self._expected(receiver):
                    whole.append(self._gathered.pop((receiver, mark.run)))
                    self._latest[receiver] = mark.run
        return whole

    def _expected(self, receiver: Receiver) -> int:
        found = self._senders.get(receiver)
        if found is None:
            edge = self._job.edges[receiver[0]]
            source, target = self._job.by_id[edge.source], self._job.by_id[edge.target]
            subtask = receiver[1] - target.offset
            senders = edge.partitioner.sources(subtask, source.parallelism, target.parallelism)
            found = self._senders[receiver] = len(senders)
        return found
