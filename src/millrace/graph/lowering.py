"""From a program's graph to the job that tasks run: the passes, named functions Graph -> Graph in the order of
``PASSES``, and ``lower``, which assigns every node's subtasks to partitions of stages.

Derived uids don't depend on the order in which operators were created, so adding an unrelated branch keeps them. Chains
follow Flink's conditions: the lower node has one input edge; both nodes share a slot sharing group; their chaining
strategies allow it; the edge forwards; the parallelism is equal; chaining is not disabled. If the environment is
configured so, the maximum parallelism must be equal, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from millrace.common.source import Boundedness
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph.program import Cache, Chaining, Edge, Graph, GraphError, Node, Settings, slot_groups
from millrace.runtime.exchange.keys import UPPER_BOUND_MAX_PARALLELISM, default_max_parallelism
from millrace.runtime.exchange.partitioners import Forward, Hash, Rebalance
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import EdgeInfo, JobGraph, OperatorInfo, ancestors
from millrace.runtime.operators.specs import CloseWith, Collect, Iterate, Source, TableStep
from millrace.runtime.operators.two_input_operators import BROADCAST_INPUT
from millrace.runtime.tables.exchange import ByColumns

# Passes


def assign_parallelism(graph: Graph) -> Graph:
    """Nodes without a parallelism of their own get the environment's; after that the number of key groups never
    changes."""
    nodes: dict[int, Node] = {}
    for node in graph.nodes:
        nodes[node.id] = _assign(node, graph, nodes)
    return replace(graph, nodes=tuple(nodes.values()))


def _assign(node: Node, graph: Graph, above: dict[int, Node]) -> Node:
    settings = graph.settings
    parallelism = 1 if node.non_parallel else node.parallelism or settings.parallelism
    if isinstance(node.spec, (Cache, Collect)):
        # The same parallelism as its inputs, so that elements are not redistributed: their order is part of the result.
        widths = {above[edge.source].parallelism or 1 for edge in node.edges}
        parallelism = widths.pop() if len(widths) == 1 else 1
    elif isinstance(node.spec, CloseWith):
        parallelism = above[node.spec.head].parallelism or 1  # each subtask sends back to the one of its number
    maximum = node.max_parallelism or settings.max_parallelism or default_max_parallelism(parallelism)
    if parallelism > maximum:
        raise GraphError(
            f"{node.described}: parallelism {parallelism} is above its maximum parallelism {maximum}; "
            f"raise it with set_max_parallelism() (up to {UPPER_BOUND_MAX_PARALLELISM})"
        )
    return replace(node, parallelism=parallelism, max_parallelism=maximum)


def assign_uids(graph: Graph) -> Graph:
    """Assigns uids. Raises ``GraphError`` if two operators have the same uid, or one has none and derived uids are
    disabled."""
    derived: dict[int, str] = {}
    kin: dict[int, str] = {}
    taken: dict[str, Node] = {}
    nodes = []
    for node in graph.nodes:
        if node.uid is None and node.uid_hash is None and not graph.settings.auto_uids and not _is_ours(node):
            raise GraphError(f"{node.described} has no uid, and derived uids are disabled; call uid() on it")
        derived[node.id] = _derive(node, derived, taken)
        kin[node.id] = _kin(node, kin)
        uid = node.uid or node.uid_hash or derived[node.id]
        if uid in taken:
            raise GraphError(
                f"{node.described} has the uid {uid!r}, which {taken[uid].described} has already; "
                f"a uid must be unique in a job"
            )
        taken[uid] = node
        known_by_kin = isinstance(node.spec, TableStep) and not node.spec.config.passes_rows
        nodes.append(replace(node, uid=uid, kin=kin[node.id] if known_by_kin else ""))
    return replace(graph, nodes=tuple(nodes))


def _is_ours(node: Node) -> bool:
    """Whether Millrace made the node, so that the user has no handle to give it a uid."""
    return isinstance(node.spec, (CloseWith, Collect))


def _kin(node: Node, kin: dict[int, str]) -> str:
    """A text like the derived uid, which does not change with projections, names, or the phases of an aggregate."""
    if isinstance(node.spec, TableStep) and node.spec.config.passes_rows and len(node.edges) == 1:
        return kin[node.edges[0].source]
    config = node.spec.config if isinstance(node.spec, TableStep) else None
    name = node.name if config is None else type(config).__name__
    inputs = [f"{edge.input}:{edge.tag}:{kin[edge.source]}" for edge in node.edges]
    text = "|".join([type(node.spec).__name__, name, node.uid or node.uid_hash or "", *inputs])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _derive(node: Node, derived: dict[int, str], taken: dict[str, Node]) -> str:
    inputs = [f"{edge.input}:{edge.tag}:{derived[edge.source]}" for edge in node.edges]
    text = "|".join([type(node.spec).__name__, node.name, node.uid or node.uid_hash or "", *inputs])
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    twin = 0
    candidate = digest
    while candidate in taken:  # identical branches are told apart by their order
        twin += 1
        candidate = hashlib.sha256(f"{digest}#{twin}".encode()).hexdigest()[:32]
    return candidate


def check_types(graph: Graph) -> Graph:
    """Fills in the types of side outputs from the edges that read them; nodes know their main type already."""
    side_types: dict[int, dict[str, TypeInformation | None]] = {}
    for node in graph.nodes:
        for edge in node.edges:
            if edge.tag is not None:
                declared = graph.node(edge.source).side_types.get(edge.tag)
                side_types.setdefault(edge.source, {})[edge.tag] = declared
    return replace(graph, nodes=tuple(_with_sides(node, side_types.get(node.id)) for node in graph.nodes))


def _with_sides(node: Node, side_types: dict[str, TypeInformation | None] | None) -> Node:
    return node if side_types is None else replace(node, side_types=side_types)


def check_loops(graph: Graph) -> Graph:
    """Raises ``GraphError`` for a loop without a ``close_with``."""
    closed = {node.spec.head for node in graph.nodes if isinstance(node.spec, CloseWith)}
    for node in graph.nodes:
        if isinstance(node.spec, Iterate) and node.id not in closed:
            raise GraphError(
                f"{node.described}: the loop that iterate() begins was never closed; call close_with() on it with the "
                f"stream whose elements go back"
            )
    return graph


def check_caches(graph: Graph) -> Graph:
    """Raises ``GraphError`` for a cache after an unbounded source, since its result would never be complete."""
    endless: dict[int, Node] = {}
    for node in graph.nodes:
        above = [endless[edge.source] for edge in node.edges if edge.source in endless]
        if isinstance(node.spec, Source) and node.spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED:
            above = [node]
        if above and isinstance(node.spec, Cache):
            raise GraphError(
                f"{node.described}: cache() keeps the whole result of bounded input, but {above[0].described} never "
                f"ends; use a sink and read what it writes"
            )
        if above:
            endless[node.id] = above[0]
    return graph


def choose_exchanges(graph: Graph) -> Graph:
    """Edges without a partitioner get ``Forward`` between equal parallelism, else ``Rebalance``; keyed edges get the
    number of key groups.

    Raises ``GraphError`` for forward() between different parallelism.
    """
    above = graph.by_id()
    nodes = [replace(node, edges=tuple(_choose(edge, node, above) for edge in node.edges)) for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def _choose(edge: Edge, node: Node, above: dict[int, Node]) -> Edge:
    source = above[edge.source]
    equal = source.parallelism == node.parallelism
    if edge.partitioner is None:
        return replace(edge, partitioner=Forward() if equal else Rebalance())
    if isinstance(edge.partitioner, Forward) and not equal:
        raise GraphError(
            f"{node.described} has parallelism {node.parallelism}, but forward() leads to it from {source.described} "
            f"with parallelism {source.parallelism}: forward() needs equal parallelism; use rebalance() or rescale()"
        )
    if isinstance(edge.partitioner, (Hash, ByColumns)):
        assert node.max_parallelism is not None, "assign_parallelism sets it"
        return replace(edge, partitioner=replace(edge.partitioner, max_parallelism=node.max_parallelism))
    return edge


def chain_operators(graph: Graph) -> Graph:
    """Fills ``graph.chains``."""
    groups = slot_groups(graph)
    chains: dict[int, int] = {}
    above = graph.by_id()
    for node in graph.nodes:
        head = node.id
        if len(node.edges) == 1 and graph.settings.chaining:
            edge = node.edges[0]
            upper = above[edge.source]
            if groups[upper.id] == groups[node.id] and _chainable(upper, edge, node, graph.settings):
                head = chains[upper.id]
        chains[node.id] = head
    return replace(graph, chains=chains)


def _chainable(upper: Node, edge: Edge, lower: Node, settings: Settings) -> bool:
    return (
        isinstance(edge.partitioner, Forward)
        and upper.parallelism == lower.parallelism
        and lower.chaining is Chaining.ALWAYS
        and upper.chaining is not Chaining.NEVER
        and (settings.chain_different_max_parallelism or upper.max_parallelism == lower.max_parallelism)
    )


def assign_stages(graph: Graph) -> Graph:
    """Fills ``graph.stages``. A forward edge stays in its stage unless the slot sharing groups differ."""
    groups = slot_groups(graph)
    stages: dict[int, int] = {}
    for node in graph.nodes:
        stages[node.id] = max((stages[edge.source] + _crosses(edge, node, groups) for edge in node.edges), default=0)
    return replace(graph, stages=stages)


def _crosses(edge: Edge, node: Node, groups: dict[int, str]) -> bool:
    return not isinstance(edge.partitioner, Forward) or groups[edge.source] != groups[node.id]


# All passes

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    assign_parallelism,
    assign_uids,
    check_types,
    check_caches,
    check_loops,
    choose_exchanges,
    chain_operators,
    assign_stages,
)


def run_passes(graph: Graph) -> Graph:
    """Run all passes, in order."""
    for run in PASSES:
        graph = run(graph)
    return graph


# Lowering


def lower(graph: Graph, job_name: str) -> JobGraph:
    """The job of a graph that has gone through all passes."""
    settings = graph.settings
    offsets, partitions = _place(graph)
    # A node in a loop would have final results only after the loop has ended, so it emits running ones.
    final = {node.id for node in graph.nodes} - in_loops(graph) if settings.batch else set()
    names, groups = chain_names(graph), slot_groups(graph)
    operators = tuple(
        OperatorInfo(
            id=node.id,
            uid=node.uid or "",
            name=node.name,
            spec=_prepared(node, settings),
            final=node.id in final,
            parallelism=node.parallelism or 1,
            max_parallelism=node.max_parallelism or 1,
            stage=graph.stages[node.id],
            offset=offsets[node.id],
            origin=node.origin,
            chain=names[graph.chains[node.id]],
            head=graph.chains[node.id],
            slot_group=groups[node.id],
            buffer_timeout=node.buffer_timeout,
            description=node.description or "",
            key_type=_key_type(node),
            output_type=node.output_type,
            side_types=node.side_types,
            kin=node.kin,
        )
        for node in graph.nodes
    )
    edges = [(edge, node) for node in graph.nodes for edge in node.edges]
    edges.sort(key=lambda pair: not _is_broadcast_side(*pair))
    return JobGraph(
        job_id=settings.job_id,
        name=job_name,
        operators=operators,
        edges=tuple(_edge(index, edge, node, graph) for index, (edge, node) in enumerate(edges)),
        partitions=partitions,
        leading_edges=sum(_is_broadcast_side(*pair) for pair in edges),
        state=settings.state,
        batch=settings.batch,
    )


def _key_type(node: Node) -> TypeInformation | None:
    """The key type that the node's inputs declare; all of them have the same."""
    hashed = (edge.partitioner for edge in node.edges if isinstance(edge.partitioner, Hash))
    return next((each.key_type for each in hashed if each.key_type is not None), None)


def _prepared(node: Node, settings: Settings) -> specs.Spec:
    """The description of a node's operator, completed by settings of the whole graph."""
    match node.spec:
        case specs.Window() as spec:
            # A window learns whether its contents may be in tables that must fit into memory.
            return replace(spec, strategy=replace(spec.strategy, in_memory=settings.state.in_memory))
        case specs.Source() | specs.AssignTimestamps() as spec if settings.batch:
            return replace(spec, strategy=_bounded(spec.strategy))
        case Cache() as spec:
            return specs.FillCache(spec.cache.sink())
        case specs.Sink() as spec:
            return specs.Sink(spec.sink.for_operator(node.uid or ""))
        case spec:
            return spec


def in_loops(graph: Graph) -> set[int]:
    """The ids of the nodes between the head of a loop and its end."""
    above = ancestors((node.id, [edge.source for edge in node.edges]) for node in graph.nodes)
    ends = [(node.id, node.spec.head) for node in graph.nodes if isinstance(node.spec, specs.CloseWith)]
    return {id for end, head in ends for id in above[end] if head in above[id]}


def _is_broadcast_side(edge: Edge, node: Node) -> bool:
    """Whether an edge leads to a broadcast side. Such edges come first in an epoch, because rules must be known before
    data."""
    broadcasts = isinstance(node.spec, (specs.BroadcastProcess, specs.KeyedBroadcastProcess, specs.MatchPatterns))
    return broadcasts and edge.input == BROADCAST_INPUT


def _edge(index: int, edge: Edge, node: Node, graph: Graph) -> EdgeInfo:
    assert edge.partitioner is not None, "choose_exchanges decides every edge"
    local = isinstance(edge.partitioner, Forward) and graph.stages[edge.source] == graph.stages[node.id]
    return EdgeInfo(index, edge.source, node.id, edge.input, edge.tag, edge.partitioner, local)


def _place(graph: Graph) -> tuple[dict[int, int], tuple[int, ...]]:
    """(node id -> partition of its first subtask in its stage, number of partitions of each stage).

    The nodes of a slot sharing group share partitions; different groups have different partitions.
    """
    groups = slot_groups(graph)
    stages = max(graph.stages.values(), default=0) + 1
    widths: list[dict[str, int]] = [{} for _ in range(stages)]
    for node in graph.nodes:
        width = widths[graph.stages[node.id]]
        width[groups[node.id]] = max(width.get(groups[node.id], 0), node.parallelism or 1)
    starts: list[dict[str, int]] = []
    for width in widths:
        start, begin = {}, 0
        for group in width:
            start[group] = begin
            begin += width[group]
        starts.append(start)
    offsets = {node.id: starts[graph.stages[node.id]][groups[node.id]] for node in graph.nodes}
    return offsets, tuple(sum(width.values()) or 1 for width in widths)


def _bounded(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Batch mode keeps timestamps; its only watermark is the last one, as in Flink."""
    timestamps_only = WatermarkStrategy.no_watermarks()
    if strategy.timestamp_assigner is not None:
        timestamps_only = timestamps_only.with_timestamp_assigner(strategy.timestamp_assigner)
    return timestamps_only


def chain_names(graph: Graph) -> dict[int, str]:
    """id of a chain's first node -> the chain's name, in Flink's form ``A -> B`` or ``A -> (B, C)``."""
    readers = graph.outputs()
    names: dict[int, str] = {}
    for node in reversed(graph.nodes):  # readers come first, so their names are there
        lower = [names[n.id] for n, _ in readers[node.id] if graph.chains[n.id] == graph.chains[node.id]]
        if not lower:
            names[node.id] = node.name
        elif len(lower) == 1:
            names[node.id] = f"{node.name} -> {lower[0]}"
        else:
            names[node.id] = f"{node.name} -> ({', '.join(lower)})"
    return {head: names[head] for head in set(graph.chains.values())}


def with_settings(
    job: JobGraph,
    records: int | None,
    millis: int | None,
    parameters: dict[str, str],
    cached_files: dict[str, str],
    latency_millis: int = 0,
    buffer_timeout: int | None = None,
    state_metrics: bool = False,
) -> JobGraph:
    """The job with limits of its epochs, the user's parameters, and cached files."""
    return replace(
        job,
        epoch_records=records,
        epoch_millis=millis,
        parameters=parameters,
        cached_files=cached_files,
        latency_millis=latency_millis,
        buffer_timeout=buffer_timeout,
        state_metrics=state_metrics,
    )
