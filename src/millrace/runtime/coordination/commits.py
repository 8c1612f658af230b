"""The second phase of the sinks, on the driver: what is prepared waits here until it may be seen."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.common.sink import Committer
from millrace.runtime.bases.epoch_protocol import OperatorReport, TaskAck
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.failure import failed_on_driver
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo

logger = logging.getLogger(__name__)

_RESTORED = -1
"""In the place of a subtask: states of a checkpoint."""


class Commits:
    """The committers of a job, and what they will have to commit."""

    def __init__(self, job: JobGraph) -> None:
        self._committers: dict[int, tuple[OperatorInfo, Committer[Any]]] = {}
        for info in job.operators:
            if isinstance(info.spec, specs.Commits):
                committer = info.spec.committer()
                if committer is not None:
                    self._committers[info.id] = (info, committer)
        self._pending: dict[int, list[Any]] = {id: [] for id in self._committers}
        self._writers: dict[int, dict[int, tuple[Any, ...]]] = {id: {} for id in self._committers}
        """operator -> subtask -> states of its writer"""
        self._saved: dict[int, list[tuple[list[Any], list[Any]]]] = {id: [] for id in self._committers}
        """operator -> what savepoints name: committables, and states of writers"""
        self._inherited = False
        """whether an earlier driver of this job may have taken savepoints, too"""

    def prepared(self, acks: Iterable[TaskAck]) -> None:
        """An epoch counts: what its tasks prepared will be committed."""
        acks = list(acks)
        for id in self._committers:
            for report in _reports(acks, id):
                self._pending[id] += report.committables
                self._writers[id].pop(_RESTORED, None)
                self._writers[id][report.subtask] = report.writer_states

    def validate(self) -> None:
        """:raises AssertionError: a sink has states of writers that it cannot have."""
        for id, (info, _) in self._committers.items():
            subtasks = self._writers[id].keys()
            known = {_RESTORED, *range(info.parallelism)}
            assert subtasks <= known, f"{info.name}: writers {sorted(subtasks - known)} of {info.parallelism}"
            alone = _RESTORED not in subtasks or len(subtasks) == 1
            assert alone, f"{info.name}: restored states of writers are there besides those of its own writers"

    def before_recorded(self) -> None:
        """A checkpoint, or a savepoint, is about to name what waits."""
        for id, (info, committer) in self._committers.items():
            if self._pending[id]:
                try:
                    self._pending[id] = list(committer.before_recorded(tuple(self._pending[id])))
                except Exception as error:
                    raise failed_on_driver(info, error, " to prepare a checkpoint") from error

    def begin(self) -> None:
        """The job starts with nothing to go on from."""
        for info, committer in self._committers.values():
            try:
                committer.begin()
            except Exception as error:
                raise failed_on_driver(info, error, " to start") from error

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
        for id in self._committers:
            self._recover(job_id, id, self._pending[id], self._states(id))

    def _recover(self, job_id: str, id: int, committables: Sequence[Any], states: Sequence[Any]) -> None:
        info, committer = self._committers[id]
        try:
            committer.recover(job_id, tuple(committables), list(states))
        except Exception as error:
            raise failed_on_driver(info, error, " to recover") from error

    def sweep(self, job_id: str, epoch: int) -> None:
        """No epoch runs, and ``epoch`` was the last one: abort what runs without acknowledgement prepared."""
        for id, (info, committer) in self._committers.items():
            try:
                committer.sweep(job_id, epoch, tuple(self._pending[id]), self._states(id))
            except Exception:
                # Another try comes, and in the end the job's end.
                logger.warning("%s: what nobody waits for could not be taken back", info.name, exc_info=True)

    def saved(self) -> None:
        """A savepoint was taken: what it names is kept to the end of the job and beyond."""
        for id in self._committers:
            self._saved[id].append((list(self._pending[id]), self._states(id)))

    def give_up(self, job_id: str, kept: Iterable[JobSnapshot]) -> None:
        """The job has failed or was cancelled: abort all but what checkpoints that are ``kept`` and savepoints name."""
        kept = list(kept)
        for id, (info, _) in self._committers.items():
            named = [*self._saved[id]]
            for each in kept:
                named.append((list(each.committables.get(info.uid, ())), list(each.writers.get(info.uid, ()))))
            if self._inherited:
                # A savepoint of which only the earlier driver knew may name the parts that are gone on with.
                named.append(([], self._states(id)))
            committables = [committable for some, _ in named for committable in some]
            self._recover(job_id, id, committables, [state for _, states in named for state in states])

    def _states(self, id: int) -> list[Any]:
        return [state for _, states in sorted(self._writers[id].items()) for state in states]

    def pending(self) -> dict[str, tuple[Any, ...]]:
        """uid -> what waits."""
        return {info.uid: tuple(self._pending[id]) for id, (info, _) in self._committers.items() if self._pending[id]}

    def writers(self) -> dict[str, tuple[Any, ...]]:
        """uid -> states of all writers, in the order of their subtasks."""
        return {info.uid: tuple(self._states(id)) for id, (info, _) in self._committers.items()}

    def restore(self, pending: Mapping[str, Sequence[Any]], writers: Mapping[str, Sequence[Any]]) -> None:
        """Take over from a checkpoint what belongs to sinks of this job."""
        self._inherited = True
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
