"""The description of a job that is ready to run: operators, edges, vertices and stages. It is pickled into every task.

A vertex of the job is a chain of operators that Flink names and shows as one task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from millrace.common.jobs import JobID, JobInfo
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.operators.specs import ReadsSplits, Spec
from millrace.runtime.state.working import InMemory, StatePlan


def ancestors(inputs: Iterable[tuple[int, Iterable[int]]]) -> dict[int, set[int]]:
    """id -> the ids of itself and of everything it reads from, directly or not. ``inputs`` are (id, ids of its inputs),
    in topological order."""
    above: dict[int, set[int]] = {}
    for id, sources in inputs:
        above[id] = {id}.union(*(above[source] for source in sources))
    return above


# Vertices


@dataclass(frozen=True)
class Input:
    """A connection into a vertex: the vertex that sends, and how elements are distributed."""

    vertex: str
    ship_strategy: str


@dataclass(frozen=True)
class Vertex:
    """One chain of operators."""

    id: str
    name: str
    head: int
    """id of the chain's first operator"""
    operators: tuple[int, ...]
    """operator ids, in topological order"""
    stage: int
    offset: int
    """partition of the stage that contains subtask 0"""
    parallelism: int
    max_parallelism: int
    slot_group: str
    inputs: tuple[Input, ...]
    leaving: tuple[int, ...]
    """ids of the operators with an edge that leads out of the chain"""


def hex_id(text: str) -> str:
    """32 hexadecimal digits that depend only on the text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def vertices_of(operators: Sequence[OperatorInfo], edges: Sequence[EdgeInfo]) -> tuple[Vertex, ...]:
    """The vertices in topological order. As in Flink, the id of each comes from the uid of its first operator."""
    chains: dict[int, list[OperatorInfo]] = {}
    for info in operators:
        chains.setdefault(info.head, []).append(info)
    head_of = {info.id: info.head for info in operators}
    ids = {head: hex_id(f"vertex {chain[0].uid}") for head, chain in chains.items()}
    inputs: dict[int, dict[Input, None]] = {head: {} for head in chains}
    leaving: dict[int, set[int]] = {head: set() for head in chains}
    for edge in edges:
        above, below = head_of[edge.source], head_of[edge.target]
        if above != below:
            inputs[below][Input(ids[above], edge.partitioner.ship_strategy)] = None
            leaving[above].add(edge.source)
    return tuple(
        Vertex(
            ids[head],
            chain[0].chain,
            head,
            tuple(info.id for info in chain),
            chain[0].stage,
            chain[0].offset,
            chain[0].parallelism,
            chain[0].max_parallelism,
            chain[0].slot_group,
            tuple(inputs[head]),
            tuple(sorted(leaving[head])),
        )
        for head, chain in chains.items()
    )


# The job


@dataclass(frozen=True)
class OperatorInfo:
    """One operator: its description, its parallelism, and where its subtasks are."""

    id: int
    uid: str
    name: str
    spec: Spec
    final: bool
    """whether only the operator's final results are needed, so that it runs in its batch form"""
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    """partition of the stage that contains subtask 0; subtask i is in partition ``offset + i``"""
    origin: str
    """file:line where the user made the operator"""
    chain: str
    """name of the chain that the operator belongs to"""
    head: int
    """id of the chain's first operator, since several chains may have one name"""
    slot_group: str
    """slot sharing group of the operator"""
    buffer_timeout: int | None = None
    """in flow: the longest time (ms) that emitted elements are gathered; None: the job's ``buffer_timeout``"""
    description: str = ""
    """the user's description of the operator; empty: there is none"""
    key_type: TypeInformation | None = None
    """type of the keys of the operator's input, as far as known"""
    output_type: TypeInformation | None = None
    side_types: dict[str, TypeInformation | None] = field(default_factory=dict)
    kin: str = ""
    """identifies an operator of a query when its uid has changed with the query; empty for other operators"""


@dataclass(frozen=True)
class EdgeInfo:
    """One connection between two operators."""

    index: int
    source: int
    target: int
    input: int
    tag: str | None
    """tag of the side output that the edge reads; None: the main output"""
    partitioner: Partitioner
    local: bool
    """whether both ends are in the same task"""


@dataclass(frozen=True)
class JobGraph:
    """A job: operators in topological order, edges, and the number of partitions of each stage."""

    job_id: str
    name: str
    operators: tuple[OperatorInfo, ...]
    edges: tuple[EdgeInfo, ...]
    partitions: tuple[int, ...]
    leading_edges: int = 0
    """the first this many edges transfer all elements of an epoch before the other edges begin"""
    state: StatePlan = field(default_factory=InMemory)
    """where tasks keep their state while they run"""
    batch: bool = False
    """whether only final results are needed, if possible in one epoch"""
    parameters: dict[str, str] = field(default_factory=dict)
    """the user's global job parameters"""
    cached_files: dict[str, str] = field(default_factory=dict)
    """name -> path as tasks see it, for each file that ``register_cached_file`` registered"""
    epoch_records: int | None = None
    """the most records that one source subtask reads in an epoch; None: no limit"""
    epoch_millis: int | None = None
    """the longest time (ms) that one source subtask reads in an epoch; None: no limit"""
    buffer_timeout: int | None = None
    """in flow: the longest time (ms) that emitted elements are gathered; 0: not at all, -1: until a packet is full or
    the epoch ends; None: not configured"""
    latency_millis: int = 0
    """interval (ms) at which sources send latency marks; 0: never"""
    state_metrics: bool = False
    """whether stores of keyed state report metrics of each state"""

    @property
    def info(self) -> JobInfo:
        """The name and id of the job, for the user's functions."""
        return JobInfo(JobID(self.job_id), self.name)

    @cached_property
    def vertices(self) -> tuple[Vertex, ...]:
        """The chains of operators, each of which is one task in Flink, in topological order."""
        return vertices_of(self.operators, self.edges)

    @cached_property
    def state_vertices(self) -> dict[tuple[int, int], str]:
        """(stage, partition) of each task -> id of the vertex that its state is counted for: the last vertex of the
        task that does not read splits, if there is one."""
        found: dict[tuple[int, int], str] = {}
        for reads in (True, False):
            for vertex in self.vertices:
                if isinstance(self.by_id[vertex.head].spec, ReadsSplits) is reads:
                    found |= {(vertex.stage, vertex.offset + index): vertex.id for index in range(vertex.parallelism)}
        return found

    def for_tasks(self) -> JobGraph:
        """The job without what only the driver needs."""
        return replace(self, operators=tuple(replace(info, spec=info.spec.for_tasks()) for info in self.operators))

    @property
    def key_groups(self) -> dict[str, int]:
        """uid of each operator -> number of its key groups."""
        return {info.uid: info.max_parallelism for info in self.operators}

    @cached_property
    def by_id(self) -> dict[int, OperatorInfo]:
        return {info.id: info for info in self.operators}

    @cached_property
    def above(self) -> dict[int, set[int]]:
        """Id of each operator -> itself and all operators that it reads from, directly or not."""
        reads: dict[int, list[int]] = {info.id: [] for info in self.operators}
        for edge in self.edges:
            reads[edge.target].append(edge.source)
        return ancestors(reads.items())

    @cached_property
    def edge_stages(self) -> tuple[int, ...]:
        """The stage that the packets of each edge go to."""
        return tuple(self.by_id[edge.target].stage for edge in self.edges)

    def hosted(self, stage: int, partition: int) -> list[tuple[OperatorInfo, int]]:
        """(operator, index of its subtask) for each operator with a subtask in this task, in topological order."""
        return [
            (info, partition - info.offset)
            for info in self.operators
            if info.stage == stage and 0 <= partition - info.offset < info.parallelism
        ]
