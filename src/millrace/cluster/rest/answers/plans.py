"""The plan of a job: its vertices with their inputs, and the operators in them."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import InputDocument, VertexDocument


class PlanInput(TypedDict):
    """An edge to a vertex."""

    id: str
    num: int
    exchange: str
    ship_strategy: str


class _Node(TypedDict):
    id: str
    operator: str
    parallelism: int
    operator_strategy: str
    description: str
    optimizer_properties: dict[str, str]


class PlanNode(_Node, total=False):
    """A vertex. Sources have no inputs."""

    inputs: list[PlanInput]


class Plan(TypedDict):
    """The plan."""

    jid: str
    name: str
    type: str
    nodes: list[PlanNode]


class JobPlanInfo(TypedDict):
    """The answer that is a plan."""

    plan: Plan


class _StreamNode(TypedDict):
    id: str
    parallelism: int
    operator: str
    description: str
    inputs: list[PlanInput]


class StreamNode(_StreamNode, total=False):
    """An operator."""

    job_vertex_id: str


class StreamGraph(TypedDict):
    """The operators of a batch job."""

    nodes: list[StreamNode]


def plan(job: JobDocument) -> Plan:
    """Last vertices first, as Flink lists them."""
    return {
        "jid": job.id,
        "name": job.name,
        "type": "BATCH" if job.batch else "STREAMING",
        "nodes": [_node(each) for each in reversed(job.vertices)],
    }


def _node(vertex: VertexDocument) -> PlanNode:
    node: PlanNode = {
        "id": vertex.id,
        "operator": "",
        "parallelism": vertex.parallelism,
        "operator_strategy": "",
        "description": _description(vertex),
        "optimizer_properties": {},
    }
    if vertex.inputs:
        node["inputs"] = [_input(each) for each in vertex.inputs]
    return node


def _input(edge: InputDocument) -> PlanInput:
    return {"id": edge.vertex, "num": edge.number, "exchange": edge.exchange, "ship_strategy": edge.ship_strategy}


def _description(vertex: VertexDocument) -> str:
    """The operators, each below the one before it. Names are texts of the user: pages show this as HTML."""
    texts = [_escaped(each.description or each.name) for each in vertex.operators] or [_escaped(vertex.name)]
    lines = [texts[0], *[f"{'   ' * depth}+- {text}" for depth, text in enumerate(texts[1:])]]
    return "".join(f"{line}<br/>" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def stream_graph(job: JobDocument) -> StreamGraph:
    """The operators one by one. Inside of a vertex, each is shown to read from the one before it."""
    last = {each.id: each.operators[-1].uid for each in job.vertices if each.operators}
    nodes: list[StreamNode] = []
    for vertex in job.vertices:
        inputs: list[PlanInput] = [{**_input(each), "id": last.get(each.vertex, each.vertex)} for each in vertex.inputs]
        for operator in vertex.operators:
            nodes.append(
                {
                    "id": operator.uid,
                    "parallelism": vertex.parallelism,
                    "operator": operator.name,
                    "description": _escaped(operator.description or operator.name),
                    "inputs": inputs,
                    "job_vertex_id": vertex.id,
                }
            )
            inputs = [{"id": operator.uid, "num": 0, "exchange": "UNDEFINED", "ship_strategy": "FORWARD"}]
    return {"nodes": nodes}
