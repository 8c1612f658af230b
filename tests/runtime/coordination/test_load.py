"""``Loads``: who was busy, who waited for whom, and what an epoch's time went into."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorReport, OperatorTimes, SourceReport, TaskAck, TaskTimes
from millrace.runtime.coordination.figures import Figures, Loads
from millrace.runtime.operators.job_graph import JobGraph

MS = 1_000


def three_stages() -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_sequence(1, 9).name("source").map(lambda n: n).name("beside").disable_chaining()
    middle = stream.key_by(lambda n: n).map(lambda n: n).name("middle").disable_chaining()
    middle.key_by(lambda n: n).map(lambda n: n).name("last").disable_chaining()
    return env.job_graph()


def acks(job: JobGraph, work: dict[tuple[str, int], float], write: dict[tuple[str, int], float]) -> list[TaskAck]:
    """What tasks say whose operators took so many ms; reading the packets of a task took 1 ms."""
    found = []
    for stage, width in enumerate(job.partitions):
        for partition in range(width):
            reports = tuple(
                OperatorReport(
                    info.id,
                    subtask,
                    10,
                    10,
                    0,
                    times=OperatorTimes(
                        int(work.get((info.name, subtask), 0) * MS), 0, int(write.get((info.name, subtask), 0) * MS)
                    ),
                )
                for info, subtask in job.hosted(stage, partition)
            )
            found.append(TaskAck(1, stage, partition, reports, times=TaskTimes(read=MS)))
    return found


WORK = {
    ("Source: source", 0): 10.0,
    ("Source: source", 1): 20.0,
    ("beside", 0): 5.0,
    ("middle", 0): 100.0,
    ("middle", 1): 40.0,
    ("last", 1): 7.0,
}
WRITE = {("middle", 1): 3.0}


def test_a_vertex_is_backpressured_by_those_that_take_its_elements() -> None:
    job = three_stages()
    names = {vertex.id: vertex.name for vertex in job.vertices}
    found = {(names[id], n): load[:2] for (id, n), load in Loads(job).of(acks(job, WORK, WRITE)).items()}
    # Each waits for the slowest subtask of each stage below, for its own packets, and for who works in the same task.
    assert found == {
        ("Source: source", 0): (10, 100 + 7 + 5),
        ("Source: source", 1): (20, 100 + 7),
        ("beside", 0): (5, 100 + 7),
        ("beside", 1): (0, 100 + 7),
        ("middle", 0): (100, 7),
        ("middle", 1): (40, 3 + 7),
        ("last", 0): (0, 0),
        ("last", 1): (7, 0),
    }


def test_tasks_in_flow_have_measured_what_they_wait_for() -> None:
    job = three_stages()
    names = {vertex.id: vertex.name for vertex in job.vertices}
    pressed = {(0, 0): 30, (0, 1): 40, (1, 0): 0, (1, 1): 5, (2, 0): 0, (2, 1): 0}
    in_flow = [
        replace(ack, times=ack.times._replace(pressed=pressed[place] * MS, pools=(0.25, ack.stage / 2)))
        for ack in acks(job, WORK, WRITE)
        for place in [(ack.stage, ack.partition)]
    ]
    loads = {(names[id], n): load for (id, n), load in Loads(job).of(in_flow).items()}
    assert (loads["middle", 1].pools, loads["last", 0].pools) == ((0.25, 0.5), (0.25, 1.0))
    found = {place: load[:2] for place, load in loads.items()}
    assert found == {
        ("Source: source", 0): (10, 30),
        ("Source: source", 1): (20, 40),
        ("beside", 0): (5, 30),
        ("beside", 1): (0, 40),
        ("middle", 0): (100, 0),
        ("middle", 1): (40, 5),
        ("last", 0): (0, 0),
        ("last", 1): (7, 0),
    }


def test_the_phases_are_those_of_the_slowest_task_of_each_stage() -> None:
    job = three_stages()
    phases = Loads(job).phases(acks(job, WORK, WRITE), run=200.0)
    # Stage 0: subtask 1 read for 20 + 1 ms; stage 1: subtask 0; stage 2: subtask 1.
    assert phases == {"start": 200 - 21 - 101 - 8, "read": 20 + 1 + 1 + 1, "process": 107, "exchange": 0, "record": 0}
    assert sum(phases.values()) == 200


def test_the_time_of_a_subtask_adds_up() -> None:
    job = three_stages()
    figures = Figures(job, began=1_000)
    figures.take(acks(job, WORK, WRITE), {}, 1_400)
    figures.take(acks(job, WORK, WRITE), {}, 1_500)  # the tasks of an epoch ran at the same time as the driver waited
    for known in figures.all().values():
        assert known.busy_ms + known.backpressured_ms + known.idle_ms == pytest.approx(500)
        assert known.busy + known.backpressured + known.idle == pytest.approx(1)
    middle = next(vertex for vertex in job.vertices if vertex.name == "middle")
    assert figures.all()[middle.id, 0].busy == pytest.approx(200 / 500)


def changed(told: list[TaskAck], job: JobGraph, name: str, **fields: Any) -> list[TaskAck]:
    """The same, but for what the operator of this name tells."""
    id = next(info.id for info in job.operators if info.name == name)
    return [
        replace(
            ack,
            reports=tuple(replace(report, **fields) if report.operator == id else report for report in ack.reports),
        )
        for ack in told
    ]


def loads_of_the_source(figures: Figures, job: JobGraph) -> list[tuple[float, float, float]]:
    """(busy, back-pressured, idle) of its subtasks (ms)."""
    source = next(vertex for vertex in job.vertices if vertex.name == "Source: source")
    found = [figures.all()[source.id, index] for index in range(2)]
    return [(each.busy_ms, each.backpressured_ms, each.idle_ms) for each in found]


def test_a_source_that_reads_nothing_because_something_waits_further_down_is_backpressured() -> None:
    job = three_stages()
    figures = Figures(job, began=0)
    reads = changed(acks(job, WORK, {}), job, "Source: source", source=SourceReport((), False, 0))
    figures.take(changed(reads, job, "last", waiting=3), {}, 1_000)
    # What waits has come to wait in this epoch, whose sources read all that there was.
    assert loads_of_the_source(figures, job) == [(10, 100 + 7 + 5, 878), (20, 100 + 7, 873)]
    quiet = changed(acks(job, {}, {}), job, "Source: source", source=SourceReport((), False, 0))
    figures.take(quiet, {}, 2_000)
    assert loads_of_the_source(figures, job)[1] == (20, 107 + 1_000, 873)
    figures.take(quiet, {}, 3_000)  # nothing waits any more
    assert loads_of_the_source(figures, job)[1] == (20, 107 + 1_000, 873 + 1_000)


def test_so_is_one_that_could_not_hand_on_what_it_had() -> None:
    job = three_stages()
    for waiting, expected in ((2, (20, 980, 0)), (0, (20, 107, 873))):
        figures = Figures(job, began=0)
        told = changed(acks(job, WORK, {}), job, "Source: source", source=SourceReport((), False, 0, more=True))
        figures.take(changed(told, job, "middle", waiting=waiting), {}, 1_000)
        assert loads_of_the_source(figures, job)[1] == expected


def test_shares_are_those_of_the_last_seconds() -> None:
    job = three_stages()
    figures = Figures(job, began=0)
    middle = next(vertex for vertex in job.vertices if vertex.name == "middle")
    for second in range(1, 21):
        figures.take(acks(job, WORK if second <= 10 else {}, {}), {}, second * 1_000)
    known = figures.all()[middle.id, 0]
    assert (known.busy, known.busy_ms) == (0, 1_000)
    assert len(figures._known[middle.id, 0].recent) <= 7


def test_bytes_and_state_are_added_up_by_vertex() -> None:
    job = three_stages()
    told = acks(job, {}, {})
    source = next(info for info in job.operators if info.name == "Source: source")
    told = [
        replace(
            ack,
            reports=tuple(
                replace(report, bytes_in=5, bytes_out=7) if report.operator != source.id else report
                for report in ack.reports
            ),
        )
        for ack in told
    ]
    figures = Figures(job, began=0)
    figures.take(told, {(1, 0): 50}, 10)
    vertices = {vertex.name: vertex.id for vertex in job.vertices}
    known = figures.all()
    assert (known[vertices["Source: source"], 0].bytes_out, known[vertices["middle"], 0].bytes_in) == (0, 5)
    assert known[vertices["middle"], 0].state_bytes == 50
    assert known[vertices["middle"], 1].records_in == 10
