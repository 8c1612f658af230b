"""The metrics of jobs and tasks, by Flink's names."""

from __future__ import annotations

import itertools

import pytest

from millrace.common import Types
from millrace.common.jobs import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.metrics.report import CounterSnapshot, GaugeSnapshot
from millrace.runtime.bases.epoch_protocol import OperatorReport, SourceReport
from millrace.runtime.coordination.checkpoints import (
    CheckpointLog,
    CheckpointStats,
    CheckpointStatus,
    Pending,
    Restored,
)
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.history import JobHistory
from millrace.runtime.storage import MemoryStorage
from millrace.testing import run_locally


def program() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_sequence(1, 40).name("numbers").filter(lambda n: n % 2 == 0).name("even")
    stream.key_by(lambda n: n).map(lambda n: n, Types.LONG()).name("keyed").print()
    return env


def test_of_tasks() -> None:
    ticks = itertools.count(1_000, 1_000)
    report = run_locally(program(), epoch_records=10, clock=lambda: next(ticks)).metrics
    source, sink = "Source: numbers -> even", "keyed -> Sink: Print to Std. Out"

    def total(task: str, name: str) -> int:
        found = report.task(task, name)
        assert found.keys() == {0, 1}
        return sum(value.count for value in found.values() if isinstance(value, CounterSnapshot))

    assert (total(source, "numRecordsIn"), total(source, "numRecordsOut")) == (0, 20)
    assert (total(sink, "numRecordsIn"), total(sink, "numRecordsOut")) == (20, 0)
    assert total(source, "numBytesOut") == total(sink, "numBytesIn") > 0
    assert total(source, "numBytesIn") == total(sink, "numBytesOut") == 0
    for name in ("busy", "backPressured", "idle"):
        assert report.task(sink, f"{name}TimeMsPerSecond").keys() == {0, 1}
    parts = [report.task(sink, f"{name}TimeMsPerSecond")[0] for name in ("busy", "backPressured", "idle")]
    assert sum(part.value for part in parts if isinstance(part, GaugeSnapshot)) == pytest.approx(1000, abs=2)
    with pytest.raises(KeyError, match="no task 'nothing'; there are: Source: numbers -> even, keyed"):
        report.task("nothing", "numRecordsIn")
    with pytest.raises(KeyError, match="no metric 'nothing'"):
        report.task(source, "nothing")
    assert report.get("keyed", "numRecordsIn").count == 20
    assert isinstance(report.job("lastEpochPhase.process"), GaugeSnapshot)


def test_of_sources() -> None:
    now = [10_000]
    job = program().job_graph()
    source = job.operators[0]
    coordinator = Coordinator(job, lambda: now[0], MemoryStorage())

    def gauges(subtask: int) -> dict[str, object]:
        found = [entry for entry in coordinator.report() if (entry.uid, entry.subtask) == (source.uid, subtask)]
        return {entry.name: entry.value.value for entry in found if isinstance(entry.value, GaugeSnapshot)}

    assert (gauges(0)["watermarkLag"], gauges(0)["sourceIdleTime"]) == (None, 0)
    read = SourceReport(("a", "b"), False, 9_000)
    nothing = SourceReport((), False, 0, idle=True)
    coordinator.metrics.take([OperatorReport(source.id, 0, 0, 5, 0, read, watermark_out=9_000)])
    now[0] = 12_000
    coordinator.metrics.take([OperatorReport(source.id, 1, 0, 0, 0, nothing)])
    first, second = gauges(0), gauges(1)
    names = ("watermarkLag", "sourceIdleTime", "isIdle", "numSplits")
    assert [first[name] for name in names] == [3_000, 2_000, 0, 2]
    assert [second[name] for name in names] == [None, 2_000, 1, 0]


def value(coordinator: Coordinator, name: str) -> object:
    found = coordinator.report().job(name)
    assert isinstance(found, GaugeSnapshot)
    return found.value


def test_times_in_states() -> None:
    now = [0]
    coordinator = Coordinator(program().job_graph(), lambda: now[0], MemoryStorage())
    history = coordinator.history
    for status, at in ((JobStatus.RUNNING, 10), (JobStatus.RESTARTING, 110), (JobStatus.RUNNING, 115)):
        now[0] = at
        history.enter(status)
    now[0] = 120
    assert (value(coordinator, "runningTime"), value(coordinator, "runningTimeTotal")) == (5, 105)
    assert (value(coordinator, "restartingTime"), value(coordinator, "restartingTimeTotal")) == (0, 5)
    assert [value(coordinator, name) for name in ("uptime", "downtime", "numRestarts")] == [5, 0, 0]
    history.enter(JobStatus.FINISHED)
    history.enter(JobStatus.RUNNING)
    assert history.status is JobStatus.FINISHED
    assert (value(coordinator, "uptime"), value(coordinator, "downtime")) == (-1, -1)


def stats(number: int, completed: bool = True, savepoint: bool = False) -> CheckpointStats:
    status = CheckpointStatus.COMPLETED if completed else CheckpointStatus.FAILED
    return CheckpointStats(number, savepoint, status, 100, 20, 1_000 * number, 10 * number, f"/chk-{number}", began=50)


def test_of_checkpoints() -> None:
    coordinator = Coordinator(program().job_graph(), lambda: 0, MemoryStorage())
    assert value(coordinator, "lastCheckpointExternalPath") == "n/a"
    assert value(coordinator, "lastCheckpointDuration") == -1
    log = coordinator.log
    log.add(stats(1))
    log.add(stats(2))
    log.add(stats(3, completed=False))
    log.restored(Restored(1, 77, False, "/chk-1"))
    found = {
        name: value(coordinator, name)
        for name in (
            "totalNumberOfCheckpoints",
            "numberOfCompletedCheckpoints",
            "numberOfFailedCheckpoints",
            "numberOfInProgressCheckpoints",
            "lastCompletedCheckpointId",
            "lastCheckpointDuration",
            "lastCheckpointSize",
            "lastCheckpointFullSize",
            "lastCheckpointExternalPath",
            "lastCheckpointRestoreTimestamp",
        )
    }
    assert list(found.values()) == [3, 2, 1, 0, 2, 70, 20, 2_000, "/chk-2", 77]


def test_what_was_expected_and_did_not_come_has_failed() -> None:
    log = CheckpointLog()
    log.expect(Pending(4, True, 10))
    assert (log.counts.in_progress, log.counts.total) == (1, 1)
    log.give_up(25)
    log.give_up(30)
    (failed,) = log.history()
    assert (failed.checkpoint_id, failed.savepoint, failed.status) == (4, True, CheckpointStatus.FAILED)
    assert (failed.end_to_end, log.counts.failed, log.counts.in_progress) == (15, 1, 0)


def test_checkpoints_follow_while_a_savepoint_is_written() -> None:
    log = CheckpointLog()
    log.expect(Pending(4, True, 10))
    first = log.set_aside()
    log.expect(Pending(5, False, 20))
    assert (log.counts.in_progress, log.counts.total) == (2, 2)
    assert log.pending == Pending(5, False, 20)
    log.add(CheckpointStats(5, False, CheckpointStatus.COMPLETED, 20, 3, 7, 7))
    assert log.pending == first and log.counts.in_progress == 1
    log.expect(Pending(6, True, 30))
    second = log.set_aside()
    log.give_up(31)
    assert log.counts.failed == 0, "the running epoch ends with nothing"
    log.not_saved(second, 34, "the disk is full")
    log.saved(first, 40, "/savepoint", {})
    assert log.pending is None and log.counts.in_progress == 0
    assert [(each.checkpoint_id, each.savepoint, each.status.value, each.duration) for each in log.history()] == [
        (5, False, "COMPLETED", 3),
        (6, True, "FAILED", 4),
        (4, True, "COMPLETED", 30),
    ]


def test_only_the_last_failures_are_kept() -> None:
    history = JobHistory(lambda: 5)
    history.keep_failures(2)
    for number in range(2):
        history.failed(ValueError(str(number)), number)
    assert not history.truncated
    history.failed(ValueError("2"), 2)
    assert history.truncated
    assert [(record.name, record.text, record.attempt) for record in history.failures()] == [
        ("ValueError", "2", 2),
        ("ValueError", "1", 1),
    ]
