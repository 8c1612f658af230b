"""Graphs as text, for tests: one line per node.

    a: source p=2
    b: map <- a
    c: process max=8 uid=x chain=HEAD slot=g once <- b hash, a @late

``name: kind settings <- input [partitioner] [@side output] [#input number], ...``; ``once`` means non-parallel.
"""

from __future__ import annotations

from typing import Any

from millrace.common.functions.callables import as_filter, as_map
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import CollectionSource
from millrace.datastream.functions import CoProcessFunction, ProcessFunction
from millrace.graph.program import Chaining, Edge, Graph, Node, Settings
from millrace.runtime.exchange import partitioners
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class CoPass(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    process_element2 = process_element1


SPECS: dict[str, specs.Spec] = {
    "source": specs.Source(CollectionSource([1, 2]), WatermarkStrategy.no_watermarks()),
    "map": specs.Map(as_map(abs)),
    "filter": specs.Filter(as_filter(bool)),
    "process": specs.Process(Pass()),
    "co": specs.CoProcess(CoPass()),
    "print": specs.Print(None, None),
}
PARTITIONERS: dict[str, partitioners.Partitioner] = {
    "forward": partitioners.Forward(),
    "rebalance": partitioners.Rebalance(),
    "rescale": partitioners.Rescale(),
    "shuffle": partitioners.Shuffle(),
    "broadcast": partitioners.Broadcast(),
    "global": partitioners.Global(),
    "hash": partitioners.Hash(abs),
    "custom": partitioners.Custom(lambda key, count: 0, abs),
}
PREFIX = {"source": "Source: ", "print": "Sink: "}


def read(text: str, parallelism: int = 2, **settings: Any) -> Graph:
    """The graph that a text describes."""
    nodes: dict[str, Node] = {}
    for line in filter(str.strip, text.splitlines()):
        head, _, inputs = line.partition("<-")
        name, _, what = head.partition(":")
        kind, *words = what.split()
        edges = tuple(_edge(part, nodes) for part in inputs.split(",")) if inputs else ()
        name = name.strip()
        nodes[name] = Node(
            id=len(nodes) + 1,
            name=PREFIX.get(kind, "") + name,
            spec=SPECS[kind],
            edges=edges,
            origin=f"job.py:{len(nodes) + 1}",
            **dict(map(_setting, words)),
        )
    return Graph(tuple(nodes.values()), Settings(parallelism, **settings))


def _setting(word: str) -> tuple[str, Any]:
    key, _, value = word.partition("=")
    if key == "once":
        return "non_parallel", True
    if key in ("p", "max"):
        return {"p": "parallelism", "max": "max_parallelism"}[key], int(value)
    if key == "chain":
        return "chaining", Chaining(value)
    return {"slot": "slot_sharing_group"}.get(key, key), value


def _edge(text: str, nodes: dict[str, Node]) -> Edge:
    source, *words = text.split()
    changes: dict[str, Any] = {}
    for word in words:
        if word[0] == "@":
            changes["tag"] = word[1:]
        elif word[0] == "#":
            changes["input"] = int(word[1:])
        else:
            changes["partitioner"] = PARTITIONERS[word]
    return Edge(nodes[source].id, **changes)


def names(graph: Graph) -> dict[int, str]:
    return {node.id: node.name.rpartition(" ")[2] for node in graph.nodes}


def exchanges(graph: Graph) -> list[str]:
    """Every edge as ``a -FORWARD-> b``."""
    called = names(graph)
    return [
        f"{called[edge.source]} -{edge.partitioner.ship_strategy if edge.partitioner else '?'}-> {called[node.id]}"
        for node in graph.nodes
        for edge in node.edges
    ]


def stages(graph: Graph) -> str:
    """The nodes of each stage: ``a b | c``."""
    called = names(graph)
    count = max(graph.stages.values(), default=-1) + 1
    return " | ".join(
        " ".join(called[id] for id, stage in graph.stages.items() if stage == number) for number in range(count)
    )


def chains(graph: Graph) -> str:
    """The nodes of each chain: ``a b | c``."""
    called = names(graph)
    members: dict[int, list[str]] = {}
    for id, head in graph.chains.items():
        members.setdefault(head, []).append(called[id])
    return " | ".join(" ".join(chain) for chain in members.values())


def places(job: JobGraph) -> dict[str, str]:
    """Operator -> ``stage: partitions``."""
    return {
        info.name.rpartition(" ")[2]: f"{info.stage}: {info.offset}-{info.offset + info.parallelism - 1}"
        for info in job.operators
    }
