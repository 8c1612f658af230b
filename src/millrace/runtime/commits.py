"""The second phase of the sinks, on the driver: what is prepared waits here until it may be seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.runtime.epoch import OperatorReport, TaskAck
from millrace.runtime.failure import failed_on_driver
from millrace.runtime.job import JobGraph, OperatorInfo
from millrace.runtime.operators.sink import SinkOperator

_RESTORED = -1
"""In the place of a subtask: states of a checkpoint."""


class Commits:
    """The committers of a job, and what they will have to commit."""

    def __init__(self, job: JobGraph) -> None:
        self._committers: dict[int, tuple[OperatorInfo, Committer[Any]]] = {}
        for info in job.operators:
            if issubclass(info.factory, SinkOperator):
                committer = info.args[0].create_committer()
                if committer is not None:
                    self._committers[info.id] = (info, committer)
        self._pending: dict[int, list[Any]] = {id: [] for id in self._committers}
        self._writers: dict[int, dict[int, tuple[Any, ...]]] = {id: {} for id in self._committers}
        """operator -> subtask -> states of its writer"""

    def prepared(self, acks: Iterable[TaskAck]) -> None:
        """An epoch counts: what its tasks prepared will be committed."""
        acks = list(acks)
        for id in self._committers:
            for report in _reports(acks, id):
                self._pending[id] += report.committables
                self._writers[id].pop(_RESTORED, None)
                self._writers[id][report.subtask] = report.writer_states

    def commit(self) -> None:
        """Commit what waits. After an error it still waits."""
        for id, (info, committer) in self._committers.items():
            if self._pending[id]:
                try:
                    left = committer.commit(tuple(self._pending[id]))
                except Exception as error:
                    raise failed_on_driver(info, error, " to commit") from error
                self._pending[id] = list(left or ())

    def abort(self, acks: Iterable[TaskAck]) -> None:
        """An epoch failed: take back what its tasks prepared, as far as they could tell."""
        acks = list(acks)
        for id, (info, committer) in self._committers.items():
            prepared = [committable for report in _reports(acks, id) for committable in report.committables]
            if prepared:
                try:
                    committer.abort(prepared)
                except Exception as error:
                    raise failed_on_driver(info, error, " to abort") from error

    def recover(self, job_id: str) -> None:
        """Nothing runs: abort all that job ``job_id`` has prepared and that neither waits here nor is committed."""
        for id, (info, committer) in self._committers.items():
            states = [state for _, states in sorted(self._writers[id].items()) for state in states]
            try:
                committer.recover(job_id, tuple(self._pending[id]), states)
            except Exception as error:
                raise failed_on_driver(info, error, " to recover") from error

    def pending(self) -> dict[str, tuple[Any, ...]]:
        """uid -> what waits."""
        return {info.uid: tuple(self._pending[id]) for id, (info, _) in self._committers.items() if self._pending[id]}

    def writers(self) -> dict[str, tuple[Any, ...]]:
        """uid -> states of all writers, in the order of their subtasks."""
        return {
            info.uid: tuple(state for _, states in sorted(self._writers[id].items()) for state in states)
            for id, (info, _) in self._committers.items()
        }

    def restore(self, pending: Mapping[str, Sequence[Any]], writers: Mapping[str, Sequence[Any]]) -> None:
        """Take over from a checkpoint what belongs to sinks of this job."""
        by_uid = {info.uid: id for id, (info, _) in self._committers.items()}
        for uid, committables in pending.items():
            if uid in by_uid:
                self._pending[by_uid[uid]] = list(committables)
        for uid, states in writers.items():
            if uid in by_uid:
                # Whose they are will be known with the first epoch; until then they only must not be forgotten.
                self._writers[by_uid[uid]] = {_RESTORED: tuple(states)}

    def close(self) -> None:
        for _, committer in self._committers.values():
            committer.close()


def commits_in_two_phases(job: JobGraph) -> bool:
    """Whether some sink shows its elements only when they are committed."""
    return bool(Commits(job)._committers)


def _reports(acks: Iterable[TaskAck], operator: int) -> list[OperatorReport]:
    found = [report for ack in acks for report in ack.reports if report.operator == operator]
    return sorted(found, key=lambda report: report.subtask)
