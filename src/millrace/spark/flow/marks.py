"""The marks at the end of an epoch: those of a sender travel together, and a task hears of an edge when all its senders
have ended. Else a thousand tasks would wake each other a thousand times."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from millrace.runtime.exchange.flow_writer import EdgeMarks, EpochMark, SenderMarks
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.tasks.flow import FlowError

_Sender = tuple[int, int, int]
"""(edge, channel, run)"""


def divided(marks: Iterable[EpochMark], owners: int) -> Iterator[tuple[int, SenderMarks]]:
    """(number of an owner, what it gets of these marks). Its partitions are its number, modulo ``owners``."""
    found: dict[tuple[int, _Sender], tuple[list[int], list[int]]] = {}
    for target, edge, channel, run, packets in marks:
        targets, numbers = found.setdefault((target % owners, (edge, channel, run)), ([], []))
        targets.append(target)
        numbers.append(packets)
    for (owner, sender), (targets, numbers) in found.items():
        yield owner, SenderMarks(*sender, tuple(targets), tuple(numbers))


class Marks:
    """Those for the tasks of an owner, of all edges of a job. Any thread may add some."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._gathered: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
        """(edge, run) -> receiver -> (channel, packets) of the senders so far"""
        self._senders: dict[tuple[int, int], int] = {}
        """(edge, receiver) -> how many marks it gets in an epoch"""
        self._latest: dict[int, dict[int, int]] = {}
        """edge -> receiver -> the run of which it has all marks"""

    def add(self, marks: SenderMarks) -> list[EdgeMarks]:
        """Some that have come; those of the receivers that have all of an epoch now.

        :raises FlowError: they are of an epoch that has ended.
        """
        edge, channel, run, targets, packets = marks
        whole = []
        with self._lock:
            latest = self._latest.setdefault(edge, {})
            gathered = self._gathered.setdefault((edge, run), {})
            for target, number in zip(targets, packets):
                if run <= latest.get(target, 0):
                    raise FlowError(f"a mark of run {run} has come over edge {edge}, which has ended")
                row = gathered.setdefault(target, [])
                row.append((channel, number))
                if len(row) >= self._expected(edge, target):
                    whole.append(EdgeMarks(edge, target, run, tuple(gathered.pop(target))))
                    latest[target] = run
            if not gathered:
                del self._gathered[edge, run]
        return whole

    def _expected(self, edge: int, receiver: int) -> int:
        found = self._senders.get((edge, receiver))
        if found is None:
            info = self._job.edges[edge]
            source, target = self._job.by_id[info.source], self._job.by_id[info.target]
            senders = info.partitioner.sources(receiver - target.offset, source.parallelism, target.parallelism)
            found = self._senders[edge, receiver] = len(senders)
        return found
