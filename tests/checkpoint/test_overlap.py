"""An epoch is recorded and committed while the next one is planned and runs (ADR 28)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob
from tests.runtime.jobs import job_of, numbers

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.coordinator import EndedEpoch
from millrace.runtime.failure import JobFailedError
from millrace.runtime.operators.job_graph import JobGraph
from millrace.testing import LedgerSink, read_ledger

COUNT = 12


def job_with(ledger: Path, on_commit: Callable[[str], None] | None = None) -> JobGraph:
    def build(env: StreamExecutionEnvironment) -> None:
        counted = numbers(env, range(COUNT)).key_by(lambda number: number % 3).map(lambda number: number)
        counted.sink_to(LedgerSink(ledger, on_commit)).set_parallelism(2)

    return job_of(build, epoch_records=2)


def begun(job: SavedJob) -> tuple[EpochPlan, list[TaskAck]]:
    """An epoch whose tasks have run, and which has not ended."""
    job.now += 1
    plan = job.coordinator.plan()
    return plan, job.tasks(plan)


def ended(job: SavedJob) -> EndedEpoch:
    return job.coordinator.end(*begun(job))


def test_every_record_counts_once_when_all_epochs_overlap(tmp_path: Path) -> None:
    job = SavedJob(job_with(tmp_path / "ledger"), tmp_path, checkpoint_every=1)
    before = ended(job)
    results = []
    while not before.last:
        running = begun(job)
        results.append(job.coordinator.conclude(before))
        job.coordinator.validate()
        job.now += 1  # else the next checkpoint is not due
        before = job.coordinator.end(*running)
        job.coordinator.validate()
    results.append(job.coordinator.conclude(before))
    assert job.coordinator.finished
    assert [result.epoch for result in results] == list(range(1, len(results) + 1))
    assert all(result.checkpoint for result in results)
    assert sum(result.records for result in results) == COUNT
    history = job.coordinator.log.history()
    assert [stats.checkpoint_id for stats in history] == [result.epoch for result in results]
    assert [record.number for record in job.coordinator.history.epochs()] == [result.epoch for result in results]
    read_ledger(tmp_path / "ledger").check(range(COUNT))


def test_a_checkpoint_holds_nothing_of_the_epoch_beside_it(tmp_path: Path) -> None:
    graph = job_with(tmp_path / "ledger")
    job = SavedJob(graph, tmp_path, checkpoint_every=1)
    before = ended(job)
    begun(job)
    ledger = read_ledger(tmp_path / "ledger")
    assert not ledger.entries
    assert {int(name.split("-")[1]) for name in ledger.prepared} == {1, 2}
    result = job.coordinator.conclude(before)
    assert result.checkpoint is not None
    assert {entry.epoch for entry in read_ledger(tmp_path / "ledger").entries} == {1}
    # The driver dies: the second epoch has never been.
    heir = SavedJob(graph, tmp_path, checkpoint_every=1)
    heir.go_on()
    heir.finish()
    heir.coordinator.clean_up()
    ledger = read_ledger(tmp_path / "ledger")
    ledger.check(range(COUNT))
    assert not ledger.prepared


def test_an_epoch_that_cannot_be_committed_stays_complete(tmp_path: Path) -> None:
    commits: list[str] = []

    def unlucky(name: str) -> None:
        commits.append(name)
        if len(commits) == 1:
            raise OSError("the store is gone")

    job = SavedJob(job_with(tmp_path / "ledger", unlucky), tmp_path, checkpoint_every=1)
    before = ended(job)
    begun(job)
    with pytest.raises(JobFailedError, match="the store is gone"):
        job.coordinator.conclude(before)
    job.coordinator.restart()
    assert {entry.epoch for entry in read_ledger(tmp_path / "ledger").entries} == {1}
    assert not read_ledger(tmp_path / "ledger").prepared, "what the epoch beside it prepared is taken back"
    job.finish()
    read_ledger(tmp_path / "ledger").check(range(COUNT))
    assert job.coordinator.history.epochs()[0].number == 3, "the second one was given up, the first one is not in it"


@pytest.mark.parametrize(
    "call",
    [
        lambda job: job.coordinator.plan(savepoint="savepoint"),
        lambda job: job.coordinator.plan(drain=True),
        lambda job: job.coordinator.restart(),
        ended,
    ],
    ids=["savepoint", "drain", "restart", "end"],
)
def test_what_has_to_wait_for_the_epoch_before(call: Callable[[SavedJob], Any], tmp_path: Path) -> None:
    job = SavedJob(job_with(tmp_path / "ledger"), tmp_path, checkpoint_every=1)
    ended(job)
    with pytest.raises(AssertionError, match="the epoch before is to be concluded"):
        call(job)
