"""The frozen nodes and edges of a program, the node of ``DataStream.cache``, and the slot sharing groups of nodes."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from millrace.common.typeinfo import TypeInformation
from millrace.connectors.result_cache import ResultCache
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.operators.specs import CloseWith, Collect, Print, Sink, Source, Spec, StatefulSink
from millrace.runtime.state.working import InMemory, StatePlan

DEFAULT_SLOT_GROUP = "default"


class Chaining(enum.Enum):
    """Whether a node may be in one chain with its neighbours."""

    ALWAYS = "ALWAYS"
    HEAD = "HEAD"
    """the node may begin a chain, but not continue one"""
    NEVER = "NEVER"


@dataclass(frozen=True)
class Edge:
    """Where a node gets elements from, and how they are distributed over its subtasks."""

    source: int
    """id of the node that sends the elements"""
    partitioner: Partitioner | None = None
    """None: forward if both sides have the same parallelism, else rebalance"""
    tag: str | None = None
    """tag of the side output; None: the main output"""
    input: int = 0
    """number of the input that the edge leads to: 0, or 1 for nodes with two inputs"""


@dataclass(frozen=True)
class Node:
    """One operator of the program."""

    id: int
    name: str
    spec: Spec
    edges: tuple[Edge, ...]
    origin: str
    """file:line where the user made the operator"""
    parallelism: int | None = None
    """None: the environment's parallelism"""
    max_parallelism: int | None = None
    non_parallel: bool = False
    """whether the operator can have only one subtask"""
    uid: str | None = None
    uid_hash: str | None = None
    kin: str = ""
    """like a derived uid, but not affected by projections, names, or the phases of an aggregate before the node"""
    description: str | None = None
    slot_sharing_group: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    buffer_timeout: int | None = None
    output_type: TypeInformation | None = None
    side_types: dict[str, TypeInformation | None] = field(default_factory=dict)

    @property
    def is_source(self) -> bool:
        return isinstance(self.spec, Source)

    @property
    def is_sink(self) -> bool:
        return isinstance(self.spec, (Sink, StatefulSink, Print, Collect, CloseWith))

    @property
    def kind(self) -> str:
        """The kind of operator that stands before the user's name for it, as in Flink."""
        if self.is_source:
            return "Source: "
        return "Sink: " if self.is_sink else ""

    @property
    def described(self) -> str:
        """The node's name in errors."""
        return f"operator {self.name!r} at {self.origin}"


@dataclass(frozen=True)
class Settings:
    """The settings of the environment that apply to all nodes."""

    parallelism: int
    max_parallelism: int | None = None
    chaining: bool = True
    chain_different_max_parallelism: bool = True
    batch: bool = False
    job_id: str = ""
    state: StatePlan = field(default_factory=InMemory)
    """where the job's tasks keep their state while they run"""
    auto_uids: bool = True


@dataclass(frozen=True)
class Graph:
    """A program: its nodes in topological order (a node's edges only lead to earlier ones)."""

    nodes: tuple[Node, ...]
    settings: Settings
    chains: dict[int, int] = field(default_factory=dict)
    """node id -> id of the first node of its chain; filled by a pass"""
    stages: dict[int, int] = field(default_factory=dict)
    """node id -> its stage; filled by a pass"""

    def node(self, id: int) -> Node:
        return next(node for node in self.nodes if node.id == id)

    def by_id(self) -> dict[int, Node]:
        return {node.id: node for node in self.nodes}

    def outputs(self) -> dict[int, list[tuple[Node, Edge]]]:
        """node id -> the nodes that read from it, with the edges."""
        readers: dict[int, list[tuple[Node, Edge]]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            for edge in node.edges:
                readers[edge.source].append((node, edge))
        return readers


class GraphError(ValueError):
    """The program can't run; the text names the operator and the user's line."""


@dataclass(frozen=True)
class Cache(Spec):
    """A result that the next job computes (``FillCache``). In later jobs a ``Source`` replaces it."""

    cache: ResultCache


def slot_groups(graph: Graph) -> dict[int, str]:
    """node id -> its slot sharing group: its own, else that of its inputs if they agree, else the default group."""
    groups: dict[int, str] = {}
    for node in graph.nodes:
        inherited = {groups[edge.source] for edge in node.edges}
        group = inherited.pop() if len(inherited) == 1 else DEFAULT_SLOT_GROUP
        groups[node.id] = node.slot_sharing_group or group
    return groups
