"""The description of a job that is ready to run: operators, edges and stages. Pickled into every task.

A vertex of the job is a chain of operators that counts as one task, as Flink names and shows it.
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
    """id -> itself and all that it reads from, directly or not. Given are ids and their inputs, inputs first."""
    above: dict[int, set[int]] = {}
    for id, sources in inputs:
        above[id] = {id}.union(*(above[source] for source in sources))
    return above


# Vertices


@dataclass(frozen=True)
class Input:
    """From which vertex a vertex gets elements, and how they are spread."""

    vertex: str
    ship_strategy: str


@dataclass(frozen=True)
class Vertex:
    """One chain of operators."""

    id: str
    name: str
    head: int
    """id of its first operator"""
    operators: tuple[int, ...]
    """ids, in topological order"""
    stage: int
    offset: int
    """partition of the stage in which subtask 0 lives"""
    parallelism: int
    max_parallelism: int
    slot_group: str
    inputs: tuple[Input, ...]
    leaving: tuple[int, ...]
    """operators with an edge that leads out of the chain"""


def hex_id(text: str) -> str:
    """32 hexadecimal digits, always the same ones for a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def vertices_of(operators: Sequence[OperatorInfo], edges: Sequence[EdgeInfo]) -> tuple[Vertex, ...]:
    """The vertices, in topological order; the id of each comes from the uid of its first operator, as in Flink."""
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
    """One operator: what it does, and where its subtasks live."""

    id: int
    uid: str
    name: str
    spec: Spec
    final: bool
    """whether only final results are wanted of it: then it runs in the form of batch mode"""
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    """partition of the stage in which subtask 0 lives; subtask i lives i further"""
    origin: str
    """file:line where the user made it"""
    chain: str
    """name of the chain of operators that it runs in"""
    head: int
    """id of the operator that this chain begins with: several chains may have one name"""
    slot_group: str
    """its slot sharing group"""
    buffer_timeout: int | None = None
    """how long (ms) what it emits is gathered at most, in flow; None: as the job says"""
    description: str = ""
    """what the user says about it, else empty"""
    key_type: TypeInformation | None = None
    """the type of the keys of its input, as far as it is known"""
    output_type: TypeInformation | None = None
    side_types: dict[str, TypeInformation | None] = field(default_factory=dict)
    kin: str = ""
    """of an operator of a query: what it is known by where its uid has changed with the query"""


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
    batch: bool = False
    """whether only final results are wanted: if possible all is done in one epoch"""
    parameters: dict[str, str] = field(default_factory=dict)
    """the user's global job parameters"""
    cached_files: dict[str, str] = field(default_factory=dict)
    """name -> path, as the tasks find it: what ``register_cached_file`` registered"""
    epoch_records: int | None = None
    """most records that one source subtask reads in an epoch; None: no limit"""
    epoch_millis: int | None = None
    """longest time that one source subtask reads in an epoch; None: no limit"""
    buffer_timeout: int | None = None
    """how long (ms) what operators emit is gathered at most, in flow: 0 not at all, -1 until it is enough or the epoch
    ends; None: nothing was chosen"""
    latency_millis: int = 0
    """how often sources send marks whose way is timed; 0: never"""

    @property
    def info(self) -> JobInfo:
        """What functions can know about the job."""
        return JobInfo(JobID(self.job_id), self.name)

    @cached_property
    def vertices(self) -> tuple[Vertex, ...]:
        """What counts as one task in Flink: the chains, in topological order."""
        return vertices_of(self.operators, self.edges)

    @cached_property
    def state_vertices(self) -> dict[tuple[int, int], str]:
        """(stage, partition) of each task -> id of the vertex that its state is counted for: the last one that does
        not read splits, if there is any."""
        found: dict[tuple[int, int], str] = {}
        for reads in (True, False):
            for vertex in self.vertices:
                if isinstance(self.by_id[vertex.head].spec, ReadsSplits) is reads:
                    found |= {(vertex.stage, vertex.offset + index): vertex.id for index in range(vertex.parallelism)}
        return found

    def for_tasks(self) -> JobGraph:
        """The job as tasks need it."""
        return replace(self, operators=tuple(replace(info, spec=info.spec.for_tasks()) for info in self.operators))

    @property
    def key_groups(self) -> dict[str, int]:
        """Uid of each operator -> number of its key groups."""
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
        """The stage that each edge's packets are for."""
        return tuple(self.by_id[edge.target].stage for edge in self.edges)

    def hosted(self, stage: int, partition: int) -> list[tuple[OperatorInfo, int]]:
        """The operators with a subtask in this task, and which subtask, in topological order."""
        return [
            (info, partition - info.offset)
            for info in self.operators
            if info.stage == stage and 0 <= partition - info.offset < info.parallelism
        ]
