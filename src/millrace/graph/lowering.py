"""From the finished graph to the job that tasks run: every description meets its operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph import specs
from millrace.graph.nodes import Edge, Graph, Node
from millrace.graph.passes.chain_operators import slot_groups
from millrace.runtime.job import EdgeInfo, JobGraph, OperatorInfo
from millrace.runtime.loops import ancestors
from millrace.runtime.operators.assign_timestamps import AssignTimestampsOperator
from millrace.runtime.operators.async_wait import AsyncWaitOperator
from millrace.runtime.operators.base import Operator
from millrace.runtime.operators.broadcast_process import (
    BROADCAST_INPUT,
    BatchBroadcastProcessOperator,
    BatchKeyedBroadcastProcessOperator,
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from millrace.runtime.operators.cache import CacheOperator
from millrace.runtime.operators.close_with import CloseWithOperator
from millrace.runtime.operators.co_process import (
    BatchKeyedCoProcessOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from millrace.runtime.operators.collect import CollectOperator, PrintOperator
from millrace.runtime.operators.filter import FilterOperator
from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.interval_join import IntervalJoinOperator
from millrace.runtime.operators.iterate import IterateOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.process import BatchKeyedProcessOperator, KeyedProcessOperator, ProcessOperator
from millrace.runtime.operators.reduce import BatchReduceOperator, ReduceOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.operators.stateful_sink import StatefulSinkOperator
from millrace.runtime.partitioners import Forward
from millrace.runtime.state.working import StatePlan
from millrace.runtime.windows.choice import window_operator

STREAMING: dict[type[specs.Spec], type[Operator]] = {
    specs.Source: SourceOperator,
    specs.Map: MapOperator,
    specs.FlatMap: FlatMapOperator,
    specs.Filter: FilterOperator,
    specs.AssignTimestamps: AssignTimestampsOperator,
    specs.Process: ProcessOperator,
    specs.KeyedProcess: KeyedProcessOperator,
    specs.CoProcess: CoProcessOperator,
    specs.KeyedCoProcess: KeyedCoProcessOperator,
    specs.BroadcastProcess: BroadcastProcessOperator,
    specs.KeyedBroadcastProcess: KeyedBroadcastProcessOperator,
    specs.Reduce: ReduceOperator,
    specs.IntervalJoin: IntervalJoinOperator,
    specs.AsyncWait: AsyncWaitOperator,
    specs.Cache: CacheOperator,
    specs.Iterate: IterateOperator,
    specs.CloseWith: CloseWithOperator,
    specs.Sink: SinkOperator,
    specs.StatefulSink: StatefulSinkOperator,
    specs.Print: PrintOperator,
    specs.Collect: CollectOperator,
}

BATCH: dict[type[specs.Spec], type[Operator]] = {
    **STREAMING,
    specs.KeyedProcess: BatchKeyedProcessOperator,
    specs.KeyedCoProcess: BatchKeyedCoProcessOperator,
    specs.BroadcastProcess: BatchBroadcastProcessOperator,
    specs.KeyedBroadcastProcess: BatchKeyedBroadcastProcessOperator,
    specs.Reduce: BatchReduceOperator,
}


def lower(graph: Graph, job_name: str) -> JobGraph:
    """The job of a graph that went through all passes."""
    settings = graph.settings
    offsets, partitions = _place(graph)
    # Final results would only be there when the loop has ended, so those that go round are running ones.
    final = {node.id for node in graph.nodes} - in_loops(graph) if settings.batch else set()
    names = chain_names(graph)
    specs_of = {node.id: _with_state(node.spec, settings.state) for node in graph.nodes}
    operators = tuple(
        OperatorInfo(
            id=node.id,
            uid=node.uid or "",
            name=node.name,
            factory=_factory(specs_of[node.id], node.id in final),
            args=_arguments(specs_of[node.id], node, settings.batch),
            parallelism=node.parallelism or 1,
            max_parallelism=node.max_parallelism or 1,
            stage=graph.stages[node.id],
            offset=offsets[node.id],
            origin=node.origin,
            chain=names[graph.chains[node.id]],
            output_type=node.output_type,
            side_types=node.side_types,
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
    )


def _with_state(spec: specs.Spec, state: StatePlan) -> specs.Spec:
    """Windows learn where their contents may be."""
    if isinstance(spec, specs.Window):
        return replace(spec, strategy=replace(spec.strategy, in_memory=state.in_memory))
    return spec


def _factory(spec: specs.Spec, batch: bool) -> type[Operator]:
    if isinstance(spec, specs.Window):
        return window_operator(spec.strategy, batch)
    if isinstance(spec, specs.TableStep):
        return type(spec.config.operator())
    return (BATCH if batch else STREAMING)[type(spec)]


def in_loops(graph: Graph) -> set[int]:
    """The nodes between the head of a loop and its end."""
    above = ancestors((node.id, [edge.source for edge in node.edges]) for node in graph.nodes)
    ends = [(node.id, node.spec.head) for node in graph.nodes if isinstance(node.spec, specs.CloseWith)]
    return {id for end, head in ends for id in above[end] if head in above[id]}


def _is_broadcast_side(edge: Edge, node: Node) -> bool:
    """Such edges come first: rules shall be there before data."""
    broadcasts = isinstance(node.spec, (specs.BroadcastProcess, specs.KeyedBroadcastProcess))
    return broadcasts and edge.input == BROADCAST_INPUT


def _edge(index: int, edge: Edge, node: Node, graph: Graph) -> EdgeInfo:
    assert edge.partitioner is not None, "choose_exchanges decides every edge"
    local = isinstance(edge.partitioner, Forward) and graph.stages[edge.source] == graph.stages[node.id]
    return EdgeInfo(index, edge.source, node.id, edge.input, edge.tag, edge.partitioner, local)


def _place(graph: Graph) -> tuple[dict[int, int], tuple[int, ...]]:
    """Where each node's subtasks begin in its stage, and how many partitions each stage has.

    The nodes of a slot sharing group share partitions; groups lie side by side.
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


def _arguments(spec: specs.Spec, node: Node, batch: bool) -> tuple[Any, ...]:
    if isinstance(spec, specs.Source):
        return (spec.source, _bounded(spec.strategy) if batch else spec.strategy)
    if isinstance(spec, specs.AssignTimestamps):
        return (_bounded(spec.strategy) if batch else spec.strategy,)
    if isinstance(spec, specs.Cache):
        return (spec.cache.sink(),)
    if isinstance(spec, specs.Sink):
        return (spec.sink.for_operator(node.uid or ""),)
    return tuple(getattr(spec, name) for name in spec.__dataclass_fields__)


def _bounded(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Batch mode keeps timestamps; its only watermark is the last one, as in Flink."""
    timestamps_only = WatermarkStrategy.no_watermarks()
    if strategy.timestamp_assigner is not None:
        timestamps_only = timestamps_only.with_timestamp_assigner(strategy.timestamp_assigner)
    return timestamps_only


def chain_names(graph: Graph) -> dict[int, str]:
    """id of a chain's head -> the chain's name, in Flink's form ``A -> B`` or ``A -> (B, C)``."""
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
    job: JobGraph, records: int | None, millis: int | None, parameters: dict[str, str], cached_files: dict[str, str]
) -> JobGraph:
    """The job with the limits of its epochs, and the user's parameters and cached files."""
    return replace(
        job, epoch_records=records, epoch_millis=millis, parameters=parameters, cached_files=cached_files
    )
