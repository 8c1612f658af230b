"""Turns the finished graph into the job that tasks run: assigns every node's subtasks to partitions of stages."""

from __future__ import annotations

from dataclasses import replace

from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph.nodes import Cache, Edge, Graph, Node, Settings, slot_groups
from millrace.runtime.exchange.partitioners import Forward, Hash
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import EdgeInfo, JobGraph, OperatorInfo, ancestors
from millrace.runtime.operators.two_input_operators import BROADCAST_INPUT


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
    )
