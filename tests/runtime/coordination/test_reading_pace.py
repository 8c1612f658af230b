"""How much sources read: as much as the stages behind them can do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import numbers

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import OperatorReport, OperatorTimes, TaskAck
from millrace.runtime.coordination.reading import FIRST_MILLIS, PART, RISING, ReadingPace
from millrace.runtime.operators.job_graph import JobGraph


@pytest.fixture(scope="module")
def job() -> JobGraph:
    """A source, and a function behind an exchange."""
    env = StreamExecutionEnvironment()
    numbers(env, [1, 2, 3]).key_by(lambda n: n).map(lambda n: n).set_parallelism(2).print()
    return env.job_graph()


def acks(job: JobGraph, read: int, work: float, waiting: int = 0, reading: float = 0.0) -> list[TaskAck]:
    """An epoch in which one subtask has read so many records, and the slowest task behind has worked so long (ms)."""
    source, function = (next(info.id for info in job.operators if info.stage == stage) for stage in (0, 1))

    def report(operator: int, subtask: int, out: int, millis: float, waits: int = 0) -> OperatorReport:
        times = OperatorTimes(int(millis * 900), int(millis * 100))
        return OperatorReport(operator, subtask, 0, out, 0, times=times, waiting=waits)

    return [
        TaskAck(1, 0, 0, (report(source, 0, read, reading),)),
        TaskAck(1, 1, 0, (report(function, 0, 7, work / 3),)),
        TaskAck(1, 1, 1, (report(function, 1, 7, work, waiting),)),
    ]


def test_the_first_epoch_is_short_and_the_next_ones_are_longer(job: JobGraph) -> None:
    pace = ReadingPace(job, 1_000)
    assert (pace.millis, pace.records) == (FIRST_MILLIS, None)
    pace.ran(acks(job, 100, 1))
    assert (pace.millis, pace.records) == (RISING * FIRST_MILLIS, RISING * 100)
    pace.ran(acks(job, 800, 1))
    assert (pace.millis, pace.records) == (1_000, RISING * 800)
    assert ReadingPace(job, 60).millis == 60
    assert ReadingPace(job, 10_000).millis == 1_000


def test_as_many_as_fit_into_a_part_of_the_epoch_of_the_slowest_task(job: JobGraph) -> None:
    pace = ReadingPace(job, 1_000)
    pace.ran(acks(job, 1_000, 2_000, reading=50_000))
    assert pace.records == int(1_000 * PART / 2)
    pace.ran(acks(job, 400, 400_000))
    assert pace.records == 1, "one at least"


def test_as_long_as_something_waits_nothing_is_read(job: JobGraph) -> None:
    """Then what was read is compared with all that was worked for it."""
    pace = ReadingPace(job, 1_000)
    pace.ran(acks(job, 300, 1_000, waiting=2))
    assert pace.paused and pace.waiting
    assert (pace.millis, pace.records) == (FIRST_MILLIS, None)
    pace.ran(acks(job, 0, 1_000, waiting=1))
    assert pace.paused
    pace.ran(acks(job, 0, 1_000))
    assert not pace.paused
    assert pace.records == int(300 * PART / 3)


def test_epochs_without_records_say_nothing(job: JobGraph) -> None:
    pace = ReadingPace(job, 1_000)
    pace.ran(acks(job, 10, 1))
    known = (pace.millis, pace.records)
    for _ in range(5):
        pace.ran(acks(job, 0, 0))
    assert (pace.millis, pace.records) == known


def test_without_a_limit_only_what_waits_is_of_interest(job: JobGraph) -> None:
    pace = ReadingPace(job, None)
    pace.ran(acks(job, 10, 10**6, waiting=1))
    assert (pace.millis, pace.records, pace.waiting, pace.paused) == (None, None, True, False)
    pace.ran([])
    assert not pace.waiting


EPOCHS = st.lists(st.tuples(st.integers(0, 5_000), st.floats(0, 10_000), st.booleans()), max_size=20)


@given(EPOCHS)
def test_it_rises_slowly_and_falls_at_once(job: JobGraph, epochs: list[tuple[int, float, bool]]) -> None:
    pace = ReadingPace(job, 1_000)
    read, worked = 0, 0.0
    for records, work, waits in epochs:
        before = pace.millis
        pace.ran(acks(job, records, work, int(waits)))
        read, worked = read + records, worked + work
        assert pace.millis is not None and before is not None
        assert before <= pace.millis <= min(RISING * before, 1_000)
        assert pace.paused == waits
        if read and not waits:
            assert pace.records is not None and 1 <= pace.records <= RISING * read
            assert pace.records == 1 or pace.records * worked <= read * PART * 1_000 * 1.01 + worked
            read, worked = 0, 0.0
