"""``Figures``: what tasks tell of an epoch that goes on shows at once, and counts once when it is complete."""

from __future__ import annotations

from random import Random

import pytest
from tests.runtime.coordination.test_load import three_stages

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import (
    OperatorReport,
    OperatorSoFar,
    OperatorTimes,
    SourceReport,
    TaskAck,
    TaskSoFar,
    TaskTimes,
)
from millrace.runtime.coordination.figures import Figures
from millrace.runtime.operators.job_graph import JobGraph
from millrace.testing.flow import FlowEngine

MS = 1_000


def so_far(job: JobGraph, records: int, busy: float, watermark: int) -> list[TaskSoFar]:
    """Each operator has taken and given so many records, in so many ms."""
    times = OperatorTimes(int(busy * MS))
    return [
        TaskSoFar(
            stage,
            partition,
            tuple(
                OperatorSoFar(info.id, subtask, records, records, watermark, watermark, 10, 20, times, None)
                for info, subtask in job.hosted(stage, partition)
            ),
            TaskTimes(pressed=int(busy * MS / 2), pools=(0.25, 0.5)),
        )
        for stage, width in enumerate(job.partitions)
        for partition in range(width)
    ]


def complete(job: JobGraph, records: int, busy: float, watermark: int) -> list[TaskAck]:
    times = OperatorTimes(int(busy * MS))
    return [
        TaskAck(
            1,
            task.stage,
            task.partition,
            tuple(
                OperatorReport(
                    r.operator, r.subtask, records, records, watermark, bytes_in=10, bytes_out=20, times=times
                )
                for r in task.reports
            ),
            times=TaskTimes(pressed=int(busy * MS / 2), pools=(0.5, 0.5)),
        )
        for task in so_far(job, records, busy, watermark)
    ]


@pytest.fixture
def job() -> JobGraph:
    return three_stages()


def last(figures: Figures, job: JobGraph) -> list[object]:
    """Of the last vertex, which is one operator."""
    vertex = job.vertices[-1]
    (one, other) = (figures.all()[vertex.id, index] for index in (0, 1))
    assert one == other
    return [one.records_in, one.watermark, one.busy_ms, one.backpressured_ms, one.idle_ms, one.pools]


def test_an_epoch_that_goes_on_shows_and_counts_once(job: JobGraph) -> None:
    figures = Figures(job, 1_000)
    figures.so_far(so_far(job, 5, 100, 7), 2_000)
    assert last(figures, job) == [5, 7, 100, 50, 850, (0.25, 0.5)]
    figures.so_far(so_far(job, 8, 300, 9), 3_000)
    assert last(figures, job) == [8, 9, 300, 150, 1_550, (0.25, 0.5)]
    figures.take(complete(job, 10, 400, 11), {}, 3_500)
    assert last(figures, job) == [10, 11, 400, 200, 1_900, (0.5, 0.5)]
    figures.so_far(so_far(job, 1, 100, 11), 4_500)
    assert last(figures, job) == [11, 11, 500, 250, 2_750, (0.25, 0.5)]


def test_who_tells_nothing_new_is_idle(job: JobGraph) -> None:
    figures = Figures(job, 0)
    figures.so_far(so_far(job, 5, 100, 7), 1_000)
    figures.so_far([], 2_000)
    assert last(figures, job) == [5, 7, 100, 50, 1_850, (0.25, 0.5)]


def test_rates_are_those_of_the_last_seconds(job: JobGraph) -> None:
    figures = Figures(job, 0)
    for second in range(1, 21):
        figures.so_far(so_far(job, 100 * second if second > 10 else 0, 0, 0), 1_000 * second)
    found = figures.all()[job.vertices[-1].id, 0]
    assert found.records_in_rate == 100
    assert found.idle == 1.0


def test_a_failed_epoch_is_forgotten(job: JobGraph) -> None:
    figures = Figures(job, 0)
    figures.take(complete(job, 10, 100, 5), {}, 1_000)
    figures.so_far(so_far(job, 90, 500, 50), 2_000)
    figures.forget_epoch(2_500)
    assert last(figures, job)[:5] == [10, 5, 100, 50, 850]
    found = figures.all()[job.vertices[-1].id, 0]
    assert (found.records_in_rate, found.records_out_rate) == (0, 0)


def test_no_more_than_the_time_that_has_passed(job: JobGraph) -> None:
    figures = Figures(job, 0)
    figures.so_far(so_far(job, 1, 5_000, 0), 1_000)
    assert last(figures, job)[2:5] == [1_000, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_whenever_tasks_tell_the_sums_are_the_same(seed: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_sequence(1, 200).key_by(lambda n: n % 7).map(lambda n: n).name("middle").print()
    job = env.job_graph()
    engine = FlowEngine(job, lambda: 0, Random(seed), most=3, end=0.002, aligned=False)
    while not engine.coordinator.finished:
        engine.run_epoch(engine.coordinator.plan())
    middle = next(vertex for vertex in job.vertices if "middle" in vertex.name)
    found = engine.coordinator.figures.all()
    assert sum(found[middle.id, index].records_in for index in (0, 1)) == 200
    counted = [e for e in engine.coordinator.report() if e.path == ("numRecordsIn",) and e.operator == "middle"]
    assert sum(entry.value.count for entry in counted) == 200


def test_a_finished_source_says_so_when_its_epoch_is_complete(job: JobGraph) -> None:
    figures = Figures(job, 0)
    source = job.vertices[0].head
    report = OperatorReport(source, 0, 0, 3, 0, SourceReport((), True, 0))
    figures.take([TaskAck(1, 0, 0, (report,), times=TaskTimes(pressed=0))], {}, 1_000)
    assert figures.all()[job.vertices[0].id, 0].finished
