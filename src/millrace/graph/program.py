"""Programs: the frozen nodes and edges of a graph, the slot sharing groups of nodes, and the growing program of one
environment, to which handles add nodes; also Flink's plan JSON, and unexecuted programs.

Handles change a node by replacing it. The plan JSON is what ``get_execution_plan`` returns and Flink's plan visualiser
reads; it contains PyFlink's own nodes for keys.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from millrace.common.functions.callables import as_map
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.result_cache import ResultCache
from millrace.runtime.exchange.partitioners import Forward, Hash, Partitioner, Rebalance
from millrace.runtime.operators.job_graph import ancestors
from millrace.runtime.operators.specs import CloseWith, Collect, Map, Print, Sink, Source, Spec, StatefulSink
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.util.tracebacks import user_origin

# Nodes and edges

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


# Programs


class Program:
    """The nodes of a program in the order of their creation, which is a topological order: edges only lead to earlier
    nodes."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._next = 1
        self._begin = 1

    def add(
        self,
        name: str,
        spec: Spec,
        edges: tuple[Edge, ...] = (),
        output_type: TypeInformation | None = None,
        parallelism: int | None = None,
        non_parallel: bool = False,
    ) -> Node:
        """Add a node, made at the user's line that is calling."""
        node = Node(
            id=self._next,
            name=name,
            spec=spec,
            edges=edges,
            origin=user_origin(),
            output_type=output_type,
            parallelism=parallelism,
            non_parallel=non_parallel,
        )
        self._next += 1
        self._nodes[node.id] = node
        return node

    def node(self, id: int) -> Node:
        return self._nodes[id]

    def change(self, id: int, **changes: Any) -> None:
        self._nodes[id] = replace(self._nodes[id], **changes)

    def add_side_type(self, id: int, tag: str, side_type: TypeInformation | None) -> None:
        self.change(id, side_types={**self._nodes[id].side_types, tag: side_type})

    def depends(self, id: int, on: int) -> bool:
        """Whether a node is another one, or reads from it, directly or not."""
        above = ancestors((node.id, [edge.source for edge in node.edges]) for node in self._nodes.values())
        return on in above[id]

    def remove(self, id: int) -> None:
        """Remove a node that no other node reads."""
        self._nodes.pop(id, None)

    def clear(self) -> None:
        """Start a new program, because this one was submitted. Its nodes stay for handles that the new program uses."""
        self._begin = self._next

    def branch(self) -> Program:
        """A separate program that starts here, and may read the nodes of this one."""
        branch = Program()
        branch._nodes = dict(self._nodes)
        branch._next = branch._begin = self._next
        return branch

    def added(self) -> list[Node]:
        """The nodes added since the program started, in order."""
        return [node for node in self._nodes.values() if node.id >= self._begin]

    def graph(self, settings: Settings) -> Graph:
        """The present program: the nodes added since it started, and all nodes that they read, including older ones.

        As in Flink, sources and caches that no node reads are left out. With the head of a loop its end is included.
        """
        wanted = self._with_inputs(set())
        while ends := {tail for tail, head in self._loops() if head in wanted} - wanted.keys():
            wanted = self._with_inputs(ends | wanted.keys())
        return Graph(tuple(reversed(wanted.values())), settings)

    def _loops(self) -> list[tuple[int, int]]:
        """(end, head) of every loop."""
        return [(node.id, node.spec.head) for node in self._nodes.values() if isinstance(node.spec, CloseWith)]

    def _with_inputs(self, needed: set[int]) -> dict[int, Node]:
        """The needed nodes, with all that they read; readers first."""
        wanted: dict[int, Node] = {}
        for node in reversed(self._nodes.values()):
            if node.id in needed or (node.id >= self._begin and not isinstance(node.spec, (Cache, Source))):
                wanted[node.id] = node = _without_recomputing(node)
                needed.update(edge.source for edge in node.edges)
        return wanted


def _without_recomputing(node: Node) -> Node:
    """If an earlier job computed a cached result, its node reads that, and the operators above it are not needed."""
    source = node.spec.cache.source() if isinstance(node.spec, Cache) else None
    if source is None:
        return node
    spec = Source(source, WatermarkStrategy.no_watermarks())
    return replace(node, name=f"Source: {node.name}", spec=spec, edges=(), parallelism=source.parallelism)


# PyFlink's nodes for keys

WITH_KEYS = "_stream_key_by_map_operator"
WITHOUT_KEYS = "_keyed_stream_values_operator"
"""name of PyFlink's node that removes keys before a sink"""


def with_key_nodes(graph: Graph) -> Graph:
    """The graph with PyFlink's nodes for keys, for display only: here keys travel next to elements, so these nodes
    never run."""
    return replace(graph, nodes=tuple(_Widening(graph).nodes()))


class _Widening:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._above = graph.by_id()
        self._ids = count(max(self._above, default=0) + 1)
        self._keyed: dict[tuple[int, str | None, int, int], Node] = {}
        """(source, side output, id of the key selector, number of the input) -> node, one for each ``key_by``"""

    def nodes(self) -> Iterator[Node]:
        for node in self._graph.nodes:
            edges = []
            for edge in node.edges:
                made, ready = self._through(edge, node)
                yield from made
                edges.append(ready)
            yield replace(node, edges=tuple(edges))

    def _through(self, edge: Edge, node: Node) -> tuple[list[Node], Edge]:
        """(new nodes between a node and one that it reads, the edge from there)."""
        if not isinstance(edge.partitioner, Hash):
            return [], edge
        place = (edge.source, edge.tag, id(edge.partitioner.key_selector), edge.input)
        keyed, made = self._keyed.get(place), []
        if keyed is None:
            forward = replace(edge, partitioner=Forward(), input=0)
            keyed = self._keyed[place] = self._node(WITH_KEYS, forward, node, self._above[edge.source].parallelism)
            made.append(keyed)
        ready = replace(edge, source=keyed.id, tag=None)
        if node.is_sink:
            plain = self._node(WITHOUT_KEYS, replace(ready, input=0), node, self._graph.settings.parallelism)
            made.append(plain)
            equal = plain.parallelism == node.parallelism
            ready = replace(ready, source=plain.id, partitioner=Forward() if equal else Rebalance())
        return made, ready

    def _node(self, name: str, edge: Edge, reader: Node, parallelism: int | None) -> Node:
        return Node(next(self._ids), name, Map(as_map(_unchanged)), (edge,), reader.origin, parallelism)


def _unchanged(value: Any) -> Any:
    return value


# Plan JSON


def plan_json(graph: Graph) -> str:
    """The plan of a graph after its passes as JSON. Node ids count from 1 in the order of creation; sinks are at the
    end."""
    numbers = {node.id: index for index, node in enumerate(graph.nodes, start=1)}
    nodes = sorted(graph.nodes, key=lambda node: node.is_sink)
    return json.dumps({"nodes": [_node(node, numbers) for node in nodes]}, indent=2)


def _node(node: Node, numbers: dict[int, int]) -> dict[str, Any]:
    if node.is_source:
        pact = "Data Source"
    elif node.is_sink:
        pact = "Data Sink"
    else:
        pact = "Operator"
    described: dict[str, Any] = {
        "id": numbers[node.id],
        "type": node.name,
        "pact": pact,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if isinstance(node.spec, CloseWith):  # an addition: Flink's plan shows a loop's two ends as source and sink
        described["feeds_back_to"] = numbers[node.spec.head]
    if node.edges:
        described["predecessors"] = [_predecessor(edge, numbers) for edge in node.edges]
    return described


def _predecessor(edge: Edge, numbers: dict[int, int]) -> dict[str, Any]:
    strategy = edge.partitioner.ship_strategy if edge.partitioner is not None else ""
    # Flink writes "second" for every predecessor, also for the first.
    return {"id": numbers[edge.source], "ship_strategy": strategy, "side": "second"}


# Programs that are never executed

_watched: list[list[Program]] = []
"""programs noted by each running ``watching``; the innermost is the last one"""


def begun(program: Program) -> None:
    """Note that an environment has started this program."""
    if _watched:
        _watched[-1].append(program)


@contextmanager
def watching() -> Iterator[list[Program]]:
    """Gives the list of programs that all environments start inside the context."""
    made: list[Program] = []
    _watched.append(made)
    try:
        yield made
    finally:
        _watched.pop()


def never_executed(programs: list[Program]) -> Node | None:
    """The first sink that was in no executed job; None if there is none."""
    sinks = (node for program in programs for node in program.added() if node.kind == "Sink: ")
    return next(sinks, None)
