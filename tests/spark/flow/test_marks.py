"""Marks are gathered until all senders of an edge have ended."""

from __future__ import annotations

from random import Random

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.exchange.flow_writer import EdgeMarks, EpochMark, SenderMarks
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.tasks.flow import FlowError
from millrace.spark.workers.flow_tasks import Marks, divided
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
    sent = [(to, sender) for sender in range(SENDERS) for to in range(RECEIVERS)]
    Random(seed).shuffle(sent)
    found: list[EdgeMarks] = []
    for number, (to, sender) in enumerate(sent):
        found += marks.add(SenderMarks(edge, sender, 1, (to,), (10 * sender + to,)))
        complete = [to for to in range(RECEIVERS) if sum(each == to for each, _ in sent[: number + 1]) == SENDERS]
        assert sorted(each.target for each in found) == complete
    for each in found:
        assert sorted(each.packets) == [(sender, 10 * sender + each.target) for sender in range(SENDERS)]


@pytest.mark.parametrize("owners", [1, 2, 5])
def test_those_of_a_sender_are_divided_among_the_owners(owners: int) -> None:
    marks = [EpochMark(to, edge, channel, 7, to + edge) for edge in (0, 1) for channel in (2, 3) for to in range(6)]
    found = [
        (owner, EpochMark(to, each.edge, each.channel, each.run, packets))
        for owner, each in divided(marks, owners)
        for to, packets in zip(each.targets, each.packets)
    ]
    assert sorted(found) == sorted((mark.target % owners, mark) for mark in marks)
    assert len(list(divided(marks, owners))) == 4 * min(owners, 6)


def test_epochs_are_apart() -> None:
    graph = job()
    edge, marks = keyed_edge(graph), Marks(graph)

    def add(sender: int, run: int) -> list[int]:
        return [each.run for each in marks.add(SenderMarks(edge, sender, run, (0,), (0,)))]

    assert [add(sender, run) for run in (1, 2) for sender in range(SENDERS - 1)] == [[]] * (2 * SENDERS - 2)
    assert add(SENDERS - 1, 1) == [1]
    assert add(SENDERS - 1, 2) == [2]
    assert not marks._gathered


def test_a_mark_of_an_epoch_that_has_ended_is_an_error() -> None:
    graph = job()
    edge, marks = keyed_edge(graph), Marks(graph)
    for sender in range(SENDERS):
        marks.add(SenderMarks(edge, sender, 2, (0,), (0,)))
    with pytest.raises(FlowError, match=r"run 1 .* edge"):
        marks.add(SenderMarks(edge, 0, 1, (0,), (0,)))
