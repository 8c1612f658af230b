"""Commits sinks on the driver, the second phase of a two-phase commit: holds committables until they may be
committed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from millrace.common.sink import Committer
from millrace.runtime.bases.epoch_protocol import OperatorReport, TaskAck
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.failure import failed_on_driver
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.util.threads import JobPool

logger = logging.getLogger(__name__)

_RESTORED = -1
"""Stands for the subtask of writer states that came from a checkpoint."""


P = ParamSpec("P")
T = TypeVar("T")


class OnOneThread(Committer[object]):
    """Calls a committer, always on the same thread, whichever thread calls: a connection that the committer has opened
    may belong to the thread that opened it (SQLite). Callers wait, and get its errors."""

    def __init__(self, committer: Committer[object]) -> None:
        self._committer = committer
        self._thread = JobPool(1, "millrace-committing")

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.submit(method, *args, **kwargs).result()

    def begin(self) -> None:
        self._call(self._committer.begin)

    def before_recorded(self, committables: Sequence[object]) -> Sequence[object]:
        return self._call(self._committer.before_recorded, committables)

    def commit(self, committables: Sequence[object]) -> Sequence[object] | None:
        return self._call(self._committer.commit, committables)

    def abort(self, committables: Sequence[object]) -> None:
        self._call(self._committer.abort, committables)

    def recover(self, job_id: str, committables: Sequence[object], states: Sequence[object]) -> None:
        self._call(self._committer.recover, job_id, committables, states)

    def sweep(self, job_id: str, epoch: int, committables: Sequence[object], states: Sequence[object]) -> None:
        self._call(self._committer.sweep, job_id, epoch, committables, states)

    def close(self) -> None:
        try:
            self._call(self._committer.close)
        finally:
            self._thread.shutdown()


Contained = tuple[list[Any], list[Any]]
"""(committables, states of writers) of one sink"""
Named = dict[int, Contained]
"""operator id -> what a checkpoint or savepoint contains of it"""


class Commits:
    """The committers of a job, and their committables that were not committed yet.

    :param one_thread: whether each committer is called on a thread of its own, since several threads call it.
    """

    def __init__(self, job: JobGraph, one_thread: bool = False) -> None:
        self._committers: dict[int, tuple[OperatorInfo, Committer[Any]]] = {}
        for info in job.operators:
            if isinstance(info.spec, specs.Commits):
                committer = info.spec.committer()
                if committer is not None:
                    self._committers[info.id] = (info, OnOneThread(committer) if one_thread else committer)
        self._pending: dict[int, list[Any]] = {id: [] for id in self._committers}
        self._writers: dict[int, dict[int, tuple[Any, ...]]] = {id: {} for id in self._committers}
        """operator id -> subtask -> states of its writer"""
        self._saved: dict[int, list[Contained]] = {id: [] for id in self._committers}
        """operator id -> what savepoints contain"""
        self._inherited = False
        """whether an earlier driver of this job may have taken savepoints, too"""

    def prepared(self, acks: Iterable[TaskAck]) -> None:
        """An epoch is complete: the committables of its tasks will be committed."""
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
        """A checkpoint or savepoint is about to record the waiting committables: let the committers prepare them."""
        for id, (info, committer) in self._committers.items():
            if self._pending[id]:
                try:
                    self._pending[id] = list(committer.before_recorded(tuple(self._pending[id])))
                except Exception as error:
                    raise failed_on_driver(info, error, " to prepare a checkpoint") from error

    def begin(self) -> None:
        """The job starts without state to restore."""
        for info, committer in self._committers.values():
            try:
                committer.begin()
            except Exception as error:
                raise failed_on_driver(info, error, " to start") from error

    def commit(self) -> None:
        """Commit the waiting committables. After an error they still wait."""
        for id, (info, committer) in self._committers.items():
            if self._pending[id]:
                try:
                    left = committer.commit(tuple(self._pending[id]))
                except Exception as error:
                    raise failed_on_driver(info, error, " to commit") from error
                self._pending[id] = list(left or ())

    def abort(self, acks: Iterable[TaskAck]) -> None:
        """An epoch has failed: abort what its tasks prepared, as far as they have reported it."""
        acks = list(acks)
        for id, (info, committer) in self._committers.items():
            prepared = [committable for report in _reports(acks, id) for committable in report.committables]
            if prepared:
                try:
                    committer.abort(prepared)
                except Exception as error:
                    raise failed_on_driver(info, error, " to abort") from error

    def recover(self, job_id: str) -> None:
        """Abort everything that job ``job_id`` has prepared and that neither waits here nor is committed. No task may
        run now."""
        for id in self._committers:
            self._recover(job_id, id, self._pending[id], self._states(id))

    def _recover(self, job_id: str, id: int, committables: Sequence[Any], states: Sequence[Any]) -> None:
        info, committer = self._committers[id]
        try:
            committer.recover(job_id, tuple(committables), list(states))
        except Exception as error:
            raise failed_on_driver(info, error, " to recover") from error

    def sweep(self, job_id: str, epoch: int) -> None:
        """Abort what unacknowledged task runs have prepared up to ``epoch``, the last one that was
        recorded. Later epochs may run now."""
        for id, (info, committer) in self._committers.items():
            try:
                committer.sweep(job_id, epoch, tuple(self._pending[id]), self._states(id))
            except Exception:
                # The next sweep tries again, and so does the end of the job.
                logger.warning("%s: what nobody waits for could not be taken back", info.name, exc_info=True)

    def named(self) -> Named:
        """What a checkpoint or savepoint of this moment contains of the sinks."""
        return {id: (list(self._pending[id]), self._states(id)) for id in self._committers}

    def saved(self, named: Named) -> None:
        """A savepoint is complete: nothing in it may be aborted, not even after the job has ended.

        :param named: ``named`` at the end of its epoch.
        """
        for id, contained in named.items():
            self._saved[id].append(contained)

    def give_up(self, job_id: str, kept: Iterable[JobSnapshot]) -> None:
        """The job has failed or was cancelled: abort everything except what savepoints and the ``kept`` checkpoints
        contain."""
        kept = list(kept)
        for id, (info, _) in self._committers.items():
            named = [*self._saved[id]]
            for each in kept:
                named.append((list(each.committables.get(info.uid, ())), list(each.writers.get(info.uid, ()))))
            if self._inherited:
                # A savepoint that only the earlier driver knew may contain the parts that writers continue from.
                named.append(([], self._states(id)))
            committables = [committable for some, _ in named for committable in some]
            self._recover(job_id, id, committables, [state for _, states in named for state in states])

    def _states(self, id: int) -> list[Any]:
        return [state for _, states in sorted(self._writers[id].items()) for state in states]

    def pending(self) -> dict[str, tuple[Any, ...]]:
        """uid -> waiting committables."""
        return {info.uid: tuple(self._pending[id]) for id, (info, _) in self._committers.items() if self._pending[id]}

    def writers(self) -> dict[str, tuple[Any, ...]]:
        """uid -> states of all writers, in the order of their subtasks."""
        return {info.uid: tuple(self._states(id)) for id, (info, _) in self._committers.items()}

    def restore(self, pending: Mapping[str, Sequence[Any]], writers: Mapping[str, Sequence[Any]]) -> None:
        """Restore the committables and writer states of this job's sinks from a checkpoint."""
        self._inherited = True
        by_uid = {info.uid: id for id, (info, _) in self._committers.items()}
        for uid, committables in pending.items():
            if uid in by_uid:
                self._pending[by_uid[uid]] = list(committables)
        for uid, states in writers.items():
            if uid in by_uid:
                # The subtasks that own them are known only after the first epoch; until then they must not be lost.
                self._writers[by_uid[uid]] = {_RESTORED: tuple(states)}

    def close(self) -> None:
        for _, committer in self._committers.values():
            committer.close()


def commits_in_two_phases(job: JobGraph) -> bool:
    """Whether some sink makes its elements visible only by a commit."""
    return bool(Commits(job)._committers)


def _reports(acks: Iterable[TaskAck], operator: int) -> list[OperatorReport]:
    found = [report for ack in acks for report in ack.reports if report.operator == operator]
    return sorted(found, key=lambda report: report.subtask)
