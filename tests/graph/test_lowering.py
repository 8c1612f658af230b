"""From graphs to jobs: where subtasks live, which operator runs, what chains are called, what holds for all graphs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graph.notation import PARTITIONERS, SPECS, places, read
from tests.rings import examples

from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, ReduceFunction
from millrace.graph.lowering import chain_names, lower, run_passes, with_settings
from millrace.graph.program import Edge, Graph, Node, Settings
from millrace.runtime.exchange.partitioners import Forward
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.making import operator_class


def lowered(text: str, **changes: Any) -> JobGraph:
    return lower(run_passes(read(text, **changes)), "job")


def test_a_job_holds_what_tasks_need() -> None:
    job = lowered("a: source\nb: map max=7 uid=mine p=3 <- a", job_id="id")
    assert (job.job_id, job.name, job.partitions) == ("id", "job", (2, 3))
    info = job.by_id[2]
    assert (info.id, info.uid, info.name, type(info.spec)) == (2, "mine", "b", specs.Map)
    assert (info.parallelism, info.max_parallelism, info.stage, info.offset) == (3, 7, 1, 0)
    assert (info.origin, info.chain) == ("job.py:2", "b")
    edge = job.edges[0]
    assert (edge.index, edge.source, edge.target, edge.input, edge.tag, edge.local) == (0, 1, 2, 0, None, False)
    settled = with_settings(job, 5, 6, {"k": "v"}, {"f": "/f"})
    assert (settled.epoch_records, settled.epoch_millis, settled.parameters) == (5, 6, {"k": "v"})
    assert settled.cached_files == {"f": "/f"}


PLACES = [
    ("one group shares partitions", "a: source\nb: source p=5\nc: map p=1 <- a", "a=0: 0-1 b=0: 0-4 c=1: 0-0", (5, 1)),
    ("groups lie side by side", "a: source\nb: source slot=g p=3\nc: source", "a=0: 0-1 b=0: 2-4 c=0: 0-1", (5,)),
    (
        "in every stage anew",
        "a: source slot=g\nb: source p=4\nc: map <- b hash\nd: map p=3 <- a hash",
        "a=0: 0-1 b=0: 2-5 c=1: 0-1 d=1: 2-4",
        (6, 5),
    ),
]


@pytest.mark.parametrize(("text", "expected", "partitions"), [c[1:] for c in PLACES], ids=[c[0] for c in PLACES])
def test_where_subtasks_live(text: str, expected: str, partitions: tuple[int, ...]) -> None:
    job = lowered(text)
    assert " ".join(f"{name}={place}" for name, place in places(job).items()) == expected
    assert job.partitions == partitions


def test_forward_edges_are_local_only_within_a_stage() -> None:
    job = lowered("a: source\nb: map <- a hash\nc: co <- b, a #1\nd: map slot=g <- c")
    assert [(edge.source, edge.target, edge.local) for edge in job.edges] == [
        (1, 2, False),
        (2, 3, True),
        (1, 3, False),
        (3, 4, False),
    ]


class Keyed(KeyedProcessFunction, KeyedCoProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    process_element1 = process_element2 = process_element


class First(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


@pytest.mark.parametrize(
    ("spec", "streaming", "batch"),
    [
        (specs.KeyedProcess(Keyed()), "KeyedProcessOperator", "BatchKeyedProcessOperator"),
        (specs.KeyedCoProcess(Keyed()), "KeyedCoProcessOperator", "BatchKeyedCoProcessOperator"),
        (specs.Reduce(First()), "ReduceOperator", "BatchReduceOperator"),
        (SPECS["map"], "MapOperator", "MapOperator"),
    ],
)
def test_batch_mode_has_its_own_operators(spec: specs.Spec, streaming: str, batch: str) -> None:
    source = Node(1, "s", SPECS["source"], (), "")
    node = Node(2, "n", spec, (Edge(1, PARTITIONERS["hash"]),), "")
    for in_batch, expected in ((False, streaming), (True, batch)):
        job = lower(run_passes(Graph((source, node), Settings(1, batch=in_batch))), "")
        info = job.by_id[2]
        assert operator_class(info.spec, info.final).__name__ == expected


def test_batch_mode_keeps_timestamps_but_no_watermarks() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Assigner())
    source = Node(1, "s", specs.Source(NumberSequenceSource(1, 2), strategy), (), "")
    times = Node(2, "t", specs.AssignTimestamps(strategy), (Edge(1),), "")
    for batch in (False, True):
        job = lower(run_passes(Graph((source, times), Settings(1, batch=batch))), "")
        for kept in (info.spec.strategy for info in job.operators):  # type: ignore[attr-defined]
            assert kept.timestamp_assigner is strategy.timestamp_assigner
            assert (kept.create_generator() is None) is batch


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


NAMES = [
    ("a: source\nb: map <- a", "Source: a -> b"),
    ("a: source\nb: map <- a\nc: filter <- b\nd: print <- b", "Source: a -> b -> (c, Sink: d)"),
    (
        "a: source\nb: map <- a\nc: map <- a\nd: print <- b\ne: print <- c\nf: map <- c",
        "Source: a -> (b -> Sink: d, c -> (Sink: e, f))",
    ),
    ("a: source\nb: map <- a hash\nc: map <- b", "Source: a; b -> c"),
    ("a: source\nb: map <- a, a\nc: map <- b @late", "Source: a; b -> c"),
    ("a: source\nb: map <- a\nc: map chain=HEAD <- b\nd: map <- c", "Source: a -> b; c -> d"),
]


@pytest.mark.parametrize(("text", "expected"), NAMES)
def test_chains_have_flinks_names(text: str, expected: str) -> None:
    graph = run_passes(read(text))
    assert "; ".join(name for _, name in sorted(chain_names(graph).items())) == expected
    assert {info.chain for info in lower(graph, "").operators} == set(expected.split("; "))


def test_long_chains_have_names_too() -> None:
    lines = ["n0: source", *(f"n{number}: map <- n{number - 1}" for number in range(1, 2000))]
    (name,) = chain_names(run_passes(read("\n".join(lines)))).values()
    assert name.count(" -> ") == 1999


# -- what holds for every graph -----------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes: list[Node] = []
    for id in range(1, draw(st.integers(2, 12)) + 1):
        slot = draw(st.sampled_from([None, None, "g", "default"]))
        if id == 1 or draw(st.integers(0, 4)) == 0:
            own = draw(st.sampled_from([None, None, 1, 3]))
            nodes.append(Node(id, f"n{id}", SPECS["source"], (), "", parallelism=own, slot_sharing_group=slot))
            continue
        inputs = draw(st.lists(st.integers(1, id - 1), min_size=1, max_size=3))
        kinds = st.sampled_from([None, None, *(name for name in PARTITIONERS if name != "forward")])
        tags = st.sampled_from([None, "t"])
        edges = tuple(Edge(above, PARTITIONERS.get(draw(kinds) or ""), draw(tags)) for above in inputs)
        own = draw(st.sampled_from([None, None, 1, 3, 4]))
        nodes.append(Node(id, f"n{id}", SPECS["map"], edges, "", parallelism=own, slot_sharing_group=slot))
    return Graph(tuple(nodes), Settings(draw(st.integers(1, 4)), chaining=draw(st.booleans())))


@settings(max_examples=examples(150), deadline=None)
@given(graphs())
def test_whatever_the_graph(graph: Graph) -> None:
    done = run_passes(graph)
    job = lower(done, "")
    by_id = job.by_id
    assert len({info.uid for info in job.operators}) == len(job.operators)
    for info in job.operators:
        # a subtask is in exactly one task, and that task exists
        assert info.offset + info.parallelism <= job.partitions[info.stage]
    hosted = [
        (info.id, subtask)
        for stage, partitions in enumerate(job.partitions)
        for partition in range(partitions)
        for info, subtask in job.hosted(stage, partition)
    ]
    assert sorted(hosted) == [(info.id, subtask) for info in job.operators for subtask in range(info.parallelism)]
    for edge in job.edges:
        source, target = by_id[edge.source], by_id[edge.target]
        assert source.stage <= target.stage
        assert edge.local == (source.stage == target.stage)
        if edge.local:
            assert isinstance(edge.partitioner, Forward)
            assert (source.offset, source.parallelism) == (target.offset, target.parallelism)
        senders, receivers = source.parallelism, target.parallelism
        sent = {(s, r) for s in range(senders) for r in edge.partitioner.targets(s, senders, receivers)}
        received = {(s, r) for r in range(receivers) for s in edge.partitioner.sources(r, senders, receivers)}
        assert sent == received
        assert {r for _, r in sent} == set(range(receivers))
        assert {s for s, _ in sent} == set(range(senders))
    for stage in range(len(job.partitions)):
        assert any(info.stage == stage for info in job.operators)
    for node in done.nodes:
        head = done.chains[node.id]
        assert done.chains[head] == head
        assert done.stages[head] == done.stages[node.id]
        assert by_id[head].parallelism == by_id[node.id].parallelism
