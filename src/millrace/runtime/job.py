"""The description of a job that is ready to run: operators, edges and stages. Pickled into every task."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millrace.common.job_id import JobID
from millrace.common.job_info import JobInfo
from millrace.common.source import Source
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.operators.base import Operator
from millrace.runtime.partitioners import Partitioner
from millrace.runtime.state.working import InMemory, StatePlan


@dataclass(frozen=True)
class OperatorInfo:
    """One operator: how to make it, and where its subtasks live."""

    id: int
    uid: str
    name: str
    factory: type[Operator]
    args: tuple[Any, ...]
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    """partition of the stage in which subtask 0 lives; subtask i lives i further"""
    origin: str
    """file:line where the user made it"""
    chain: str
    """name of the chain of operators that it runs in"""
    output_type: TypeInformation | None = None
    side_types: dict[str, TypeInformation | None] = field(default_factory=dict)


@dataclass(frozen=True)
class EdgeInfo:
    """One connection between two operators."""

    index: int
    source: int
    target: int
    input: int
    tag: str | None
    """the side output that it reads, None for the main output"""
    partitioner: Partitioner
    local: bool
    """whether both ends live in the same task"""


@dataclass(frozen=True)
class JobGraph:
    """A job: operators in topological order, edges, and the number of partitions of each stage."""

    job_id: str
    name: str
    operators: tuple[OperatorInfo, ...]
    edges: tuple[EdgeInfo, ...]
    partitions: tuple[int, ...]
    leading_edges: int = 0
    """so many edges, the first ones, hand over all that an epoch has before the others begin"""
    state: StatePlan = field(default_factory=InMemory)
    """where its tasks keep their state while they run"""
    parameters: dict[str, str] = field(default_factory=dict)
    """the user's global job parameters"""
    cached_files: dict[str, str] = field(default_factory=dict)
    """name -> path, as the tasks find it: what ``register_cached_file`` registered"""
    epoch_records: int | None = None
    """most records that one source subtask reads in an epoch; None: no limit"""
    epoch_millis: int | None = None
    """longest time that one source subtask reads in an epoch; None: no limit"""

    @property
    def info(self) -> JobInfo:
        """What functions can know about the job."""
        return JobInfo(JobID(self.job_id), self.name)

    def for_tasks(self) -> JobGraph:
        """The job as tasks need it: sources leave at home what only their enumerators use."""
        return replace(self, operators=tuple(_for_tasks(info) for info in self.operators))

    @cached_property
    def by_id(self) -> dict[int, OperatorInfo]:
        return {info.id: info for info in self.operators}

    @cached_property
    def edge_stages(self) -> tuple[int, ...]:
        """The stage that each edge's packets are for."""
        return tuple(self.by_id[edge.target].stage for edge in self.edges)

    def hosted(self, stage: int, partition: int) -> list[tuple[OperatorInfo, int]]:
        """The operators with a subtask in this task, and which subtask, in topological order."""
        return [
            (info, partition - info.offset)
            for info in self.operators
            if info.stage == stage and 0 <= partition - info.offset < info.parallelism
        ]


def _for_tasks(info: OperatorInfo) -> OperatorInfo:
    if info.args and isinstance(info.args[0], Source):
        return replace(info, args=(info.args[0].for_readers(), *info.args[1:]))
    return info
