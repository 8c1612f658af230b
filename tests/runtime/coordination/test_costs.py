"""The operator that a job waits for, and what a record takes it."""

from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorReport, OperatorTimes, SourceReport, TaskAck
from millrace.runtime.coordination.figures import Costs, SlowOperator
from millrace.runtime.operators.job_graph import JobGraph


def job_of_three() -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_sequence(1, 9).name("source").map(lambda n: n).name("one").map(lambda n: n).name("two")
    return env.job_graph()


def told(job: JobGraph, millis: dict[str, float], records: int, waiting: str = "", more: bool = False) -> list[TaskAck]:
    reports = tuple(
        OperatorReport(
            info.id,
            0,
            records if info.name != "Source: source" else 0,
            records,
            0,
            source=SourceReport((), False, 0, more=more) if info.name == "Source: source" else None,
            times=OperatorTimes(int(millis.get(info.name, 0) * 1000)),
            waiting=int(info.name == waiting),
        )
        for info in job.operators
    )
    return [TaskAck(1, 0, 0, reports)]


def id_of(job: JobGraph, name: str) -> int:
    return next(info.id for info in job.operators if info.name == name)


def test_the_one_that_takes_most_of_the_time_while_records_wait() -> None:
    job = job_of_three()
    costs = Costs(job)
    costs.take(told(job, {"one": 10, "two": 30}, 4, waiting="one"), 1_000)
    costs.take(told(job, {"one": 10, "two": 30}, 6), 2_000)
    assert costs.slow() == SlowOperator(id_of(job, "two"), "two", 60 / 10, 60 / 80)


def test_nobody_is_to_blame_when_nothing_waits() -> None:
    job = job_of_three()
    costs = Costs(job)
    assert costs.slow() is None
    costs.take(told(job, {"two": 30}, 4), 1_000)
    assert costs.slow() is None


def test_nor_when_all_take_as_long() -> None:
    job = job_of_three()
    costs = Costs(job)
    costs.take(told(job, {"Source: source": 30, "one": 30, "two": 30}, 4, waiting="two"), 1_000)
    assert costs.slow() is None


def test_a_source_with_more_to_read_waits_for_what_takes_a_record_long() -> None:
    job = job_of_three()
    for records, expected in ((30, "two"), (31, None)):
        costs = Costs(job)
        costs.take(told(job, {"one": 5, "two": 30}, records, more=True), 1_000)
        slow = costs.slow()
        assert (None if slow is None else slow.name) == expected


def test_what_is_long_ago_does_not_count() -> None:
    job = job_of_three()
    costs = Costs(job)
    costs.take(told(job, {"one": 500}, 1, waiting="one"), 0)
    for second in range(1, 7):
        costs.take(told(job, {"two": 30}, 10, waiting="two"), second * 1_000)
    slow = costs.slow()
    assert slow is not None
    assert (slow.name, slow.millis, slow.share) == ("two", 3, 1)
