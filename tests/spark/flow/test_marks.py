"""Marks are gathered until all senders of an edge have ended."""

from __future__ import annotations

from random import Random

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.exchange.flow_writer import EpochMark
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.tasks.flow import FlowError
from millrace.spark.flow.marks import Marks
from millrace.testing.local import job_of

SENDERS, RECEIVERS = 4, 3


def job() -> JobGraph:
    env = StreamExecutionEnvironment()
    numbers = env.from_sequence(1, 9).map(lambda value: value).set_parallelism(SENDERS)
    return job_of(numbers.key_by(lambda value: value).map(lambda value: value).set_parallelism(RECEIVERS))


def keyed_edge(job: JobGraph) -> int:
    (edge,) = [edge.index for edge in job.edges if not edge.local and job.by_id[edge.source].parallelism == SENDERS
               and job.by_id[edge.target].parallelism == RECEIVERS]  # fmt: skip
    return edge


@pytest.mark.parametrize("seed", range(5))
def test_a_receiver_gets_all_of_them_at_once(seed: int) -> None:
    graph = job()
    edge, marks = keyed_edge(graph), Marks(graph)
    sent = [EpochMark(to, edge, sender, 1, sender) for sender in range(SENDERS) for to in range(RECEIVERS)]
    Random(seed).shuffle(sent)
    found = []
    for number, mark in enumerate(sent):
        whole = marks.add([mark])
        complete = [to for to in range(RECEIVERS) if sum(each.target == to for each in sent[: number + 1]) == SENDERS]
        found += whole
        assert sorted(each[0].target for each in found) == complete
    assert sorted(mark for whole in found for mark in whole) == sorted(sent)


def test_epochs_are_apart() -> None:
    graph = job()
    edge, marks = keyed_edge(graph), Marks(graph)
    first, second = ([EpochMark(0, edge, sender, run, 0) for sender in range(SENDERS)] for run in (1, 2))
    assert marks.add([*first[:-1], *second[:-1]]) == []
    assert marks.add(first[-1:]) == [first]
    assert marks.add(second[-1:]) == [second]


def test_a_mark_of_an_epoch_that_has_ended_is_an_error() -> None:
    graph = job()
    edge, marks = keyed_edge(graph), Marks(graph)
    marks.add([EpochMark(0, edge, sender, 2, 0) for sender in range(SENDERS)])
    with pytest.raises(FlowError, match=r"run 1 .* edge"):
        marks.add([EpochMark(0, edge, 0, 1, 0)])
