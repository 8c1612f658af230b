"""The frozen nodes and edges of a program; ``DataStream.cache`` as a node; the slot sharing groups of nodes, those that
they inherit included.
"""

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
    """Whether a node may run in one chain with its neighbours."""

    ALWAYS = "ALWAYS"
    HEAD = "HEAD"
    """may begin a chain, but not continue one"""
    NEVER = "NEVER"


@dataclass(frozen=True)
class Edge:
    """From where a node gets elements, and how they are spread over its subtasks."""

    source: int
    """id of the node above"""
    partitioner: Partitioner | None = None
    """None: forward where both sides have the same parallelism, else rebalance"""
    tag: str | None = None
    """the side output, None for the main output"""
    input: int = 0
    """0 or 1, for nodes with two inputs"""


@dataclass(frozen=True)
class Node:
    """One operator of the program."""

    id: int
    name: str
    spec: Spec
    edges: tuple[Edge, ...]
    origin: str
    """file:line where the user made it"""
    parallelism: int | None = None
    """None: the environment's"""
    max_parallelism: int | None = None
    non_parallel: bool = False
    """whether more than one subtask makes no sense"""
    uid: str | None = None
    uid_hash: str | None = None
    kin: str = ""
    """as the derived uid, but the same for other projections, other names and other phases before"""
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
        """What stands before the name that the user gave, as in Flink."""
        if self.is_source:
            return "Source: "
        return "Sink: " if self.is_sink else ""

    @property
    def described(self) -> str:
        """How errors name the node."""
        return f"operator {self.name!r} at {self.origin}"


@dataclass(frozen=True)
class Settings:
    """What the environment says about all nodes."""

    parallelism: int
    max_parallelism: int | None = None
    chaining: bool = True
    chain_different_max_parallelism: bool = True
    batch: bool = False
    job_id: str = ""
    state: StatePlan = field(default_factory=InMemory)
    """where the job keeps its state while it runs"""
    auto_uids: bool = True


@dataclass(frozen=True)
class Graph:
    """A program: its nodes in topological order (a node's edges only lead to earlier ones)."""

    nodes: tuple[Node, ...]
    settings: Settings
    chains: dict[int, int] = field(default_factory=dict)
    """node id -> id of the head of its chain; filled by a pass"""
    stages: dict[int, int] = field(default_factory=dict)
    """node id -> stage; filled by a pass"""

    def node(self, id: int) -> Node:
        return next(node for node in self.nodes if node.id == id)

    def by_id(self) -> dict[int, Node]:
        return {node.id: node for node in self.nodes}

    def outputs(self) -> dict[int, list[tuple[Node, Edge]]]:
        """node id -> the nodes that read from it."""
        readers: dict[int, list[tuple[Node, Edge]]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            for edge in node.edges:
                readers[edge.source].append((node, edge))
        return readers


class GraphError(ValueError):
    """The program can't be run; the text names the operator and the user's line."""


@dataclass(frozen=True)
class Cache(Spec):
    """A result that the next job computes (``FillCache``); later jobs have a ``Source`` in its place."""

    cache: ResultCache


def slot_groups(graph: Graph) -> dict[int, str]:
    """node id -> its slot sharing group: its own, else that of its inputs if they agree, else the default."""
    groups: dict[int, str] = {}
    for node in graph.nodes:
        inherited = {groups[edge.source] for edge in node.edges}
        group = inherited.pop() if len(inherited) == 1 else DEFAULT_SLOT_GROUP
        groups[node.id] = node.slot_sharing_group or group
    return groups
