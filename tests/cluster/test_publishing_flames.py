"""Flame graphs out of samples."""

from __future__ import annotations

from typing import Any, cast

import pytest

from millrace.cluster.documents import FrameDocument
from millrace.cluster.durable_files import encode
from millrace.cluster.publishing import Flames, flame_graph
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.workers.frames import OwnerReport, Sampled, Sampling, Stacks

SAMPLES = (
    Sampled((0, 0), True, ("run", "map"), 3),
    Sampled((0, 0), False, ("run", "map", "sleep"), 5),
    Sampled((0, 1), True, ("run", "filter"), 2),
)


def test_stacks_with_the_same_beginning_are_one_branch() -> None:
    sleep = FrameDocument("sleep", 5)
    map = FrameDocument("map", 8, (sleep,))
    assert flame_graph(SAMPLES) == FrameDocument(
        "root", 10, (FrameDocument("run", 10, (map, FrameDocument("filter", 2))),)
    )
    assert flame_graph(()) == FrameDocument("root", 0)


def test_a_deep_stack() -> None:
    graph = flame_graph([Sampled((0, 0), True, ("again",) * 5_000, 1)])
    depth = 0
    while graph.children:
        (graph,) = graph.children
        depth += 1
    assert depth == 5_000


class Runner:
    """What a graph asks of a ``JobRunner``."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.from_sequence(1, 2).map(lambda n: n)
        self.job = env.job_graph()
        self.asked: list[Any] = []

    def look(self, request: Stacks | Sampling) -> list[OwnerReport]:
        self.asked.append(request)
        return [
            OwnerReport("here", "driver", 1, samples=SAMPLES[:2]),
            OwnerReport("here", "driver", 2, samples=SAMPLES[2:]),
        ]


def test_graphs_of_a_vertex_by_subtask_and_mode() -> None:
    runner, flames = Runner(), Flames()
    (vertex,) = runner.job.vertices

    def value(subtask: int | None, mode: str) -> int:
        return flames.graph(cast(Any, runner), vertex.id, subtask, mode).value

    assert [value(None, mode) for mode in ("full", "on_cpu", "off_cpu")] == [10, 5, 5]
    assert [value(0, mode) for mode in ("full", "on_cpu", "off_cpu")] == [8, 3, 5]
    assert value(1, "off_cpu") == 0
    # All of that from one look.
    (asked,) = runner.asked
    assert asked.tasks == ((0, 0), (0, 1))
    assert flames.graph(cast(Any, runner), "unknown", None, "full") == FrameDocument("root", 0)
    with pytest.raises(ValueError, match="not 'cpu'"):
        value(None, "cpu")
    assert encode(flame_graph(SAMPLES[2:])) == (
        b'{"name":"root","value":2,"children":[{"name":"run","value":2,"children":'
        b'[{"name":"filter","value":2,"children":[]}]}]}'
    )
