"""A job at the end of an epoch, as a checkpoint records it. The state of its tasks lies in their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.common.typeinfo import TypeInformation
from millrace.relational.rules.meaning import changed
from millrace.runtime.coordination.chains import TaskFiles
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.jobs.job import JobGraph, OperatorInfo
from millrace.runtime.jobs.specs import TableStep, Window
from millrace.runtime.operators.making import operator_class
from millrace.runtime.state.info import StateInfo
from millrace.runtime.storage import TaskId
from millrace.runtime.tables.stored_calls import Kept, StoredCalls, check_counted, kept
from millrace.runtime.tables.stored_types import NotKeptError
from millrace.runtime.windows.description import describe_windows


def meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """What the state of an operator of a query means."""
    return info.spec.config.meaning if isinstance(info.spec, TableStep) else ()


def earlier_meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """The same as earlier versions said it, where that differs."""
    return info.spec.config.earlier_meaning if isinstance(info.spec, TableStep) else ()


def stored_of(info: OperatorInfo) -> tuple[StoredCalls, tuple[Any, ...]] | None:
    """How accumulators lie in the state of an operator of a query, and one of nothing."""
    return info.spec.config.stored() if isinstance(info.spec, TableStep) else None


@dataclass(frozen=True)
class OperatorPlace:
    """One operator, and where its subtasks lay."""

    uid: str
    name: str
    operator: str
    """name of the class that ran"""
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    origin: str = ""
    windows: dict[str, Any] | None = None
    """which windows it has and how it keeps them, as plain JSON; None for other operators"""
    meaning: tuple[str, ...] = ()
    """what the state of an operator of a query means; nothing: it is not known"""
    calls: dict[str, Any] | None = None
    """how accumulators and rows lie in its state (``StoredCalls``, plain JSON)"""
    kin: str = ""
    """what an operator of a query is known by where its uid has changed with the query"""

    @staticmethod
    def of(info: OperatorInfo) -> OperatorPlace:
        return OperatorPlace(
            info.uid,
            info.name,
            operator_class(info.spec, info.final).__name__,
            info.parallelism,
            info.max_parallelism,
            info.stage,
            info.offset,
            info.origin,
            describe_windows(info.spec.strategy) if isinstance(info.spec, Window) else None,
            meaning_of(info),
            None if (stored := stored_of(info)) is None else stored[0].plain(),
            info.kin,
        )

    def changed(self, info: OperatorInfo) -> str | None:
        """How what its state means differs from what it means for an operator of today; None: not, or not known."""
        now = meaning_of(info)
        if not self.meaning or not now:
            return None
        try:
            as_it_was = self.kept(info) is None
        except NotKeptError as error:
            return str(error)
        return changed(self.meaning, now) if as_it_was and self.meaning != earlier_meaning_of(info) else None

    def kept(self, info: OperatorInfo) -> Kept | None:
        """What of its accumulators and rows an operator of today goes on with; None: all as it is, or it is not known.

        :raises NotKeptError: it can't go on.
        """
        now = stored_of(info)
        if self.calls is None or now is None or not isinstance(info.spec, TableStep):
            return None
        before = StoredCalls.of(self.calls)
        check_counted(before, now[0])
        if self.meaning == earlier_meaning_of(info):
            return None
        return kept(before, *now, info.spec.config.new_calls_begin_empty)

    @property
    def layout(self) -> tuple[Any, ...]:
        """What must be the same for its tasks to go on as they were."""
        return (
            self.uid,
            self.operator,
            self.parallelism,
            self.max_parallelism,
            self.stage,
            self.offset,
            self.windows,
        )


def same_state(place: OperatorPlace, info: OperatorInfo) -> bool:
    """Whether an operator of a query is what an earlier one was, though its uid may be another one."""
    known = place.calls is not None and stored_of(info) is not None and place.kin == info.kin
    return known and place.operator == operator_class(info.spec, info.final).__name__


@dataclass(frozen=True)
class JobSnapshot:
    """All that the driver has to know to go on from the end of epoch ``epoch``."""

    job_id: str
    job_name: str
    epoch: int
    """also the number of the checkpoint"""
    time: int
    """ms"""
    operators: tuple[OperatorPlace, ...]
    tasks: dict[TaskId, TaskFiles] = field(default_factory=dict)
    sources: dict[str, ReadingSnapshot] = field(default_factory=dict)
    """uid -> positions"""
    loops: tuple[Any, ...] = ()
    committables: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> what is prepared and not yet committed"""
    writers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> states of its writers"""
    states: dict[str, tuple[StateInfo, ...]] = field(default_factory=dict)
    """uid -> the states that its function has asked for"""
    key_types: dict[str, TypeInformation] = field(default_factory=dict)
    """uid -> type of the keys of its input, as far as it is known"""
    edges: int = 0
    """number of connections between operators"""
    aggregates: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """uid -> name -> accumulator of a global aggregate, pickled"""
    linked: bool = True
    """whether the tasks' files name those before them: not those of earlier versions of Millrace"""
    waiting: bool = False
    """whether something waits at operators that had no time for it"""

    @property
    def by_uid(self) -> dict[str, OperatorPlace]:
        return {place.uid: place for place in self.operators}

    @property
    def bytes(self) -> int:
        """Size of the tasks' files."""
        return sum(files.bytes for files in self.tasks.values())

    def fits(self, job: JobGraph) -> bool:
        """Whether the tasks of ``job`` can go on from these very files."""
        before, now = self.operators, tuple(OperatorPlace.of(info) for info in job.operators)
        same = [place.layout for place in before] == [place.layout for place in now]
        same = same and all(old.meaning in ((), new.meaning) for old, new in zip(before, now))
        return same and self.edges == len(job.edges) and self.linked
