"""Epochs, checkpoints, restarts and records that stop: each rule where it applies, and where it does not."""

from __future__ import annotations

import pytest
from tests.cluster.documents import NOW, id_of, job, metrics, vertex

from millrace.cluster.documents import (
    CheckpointConfigDocument,
    CheckpointDocument,
    CheckpointsDocument,
    EpochDocument,
    ExceptionDocument,
    TaskCheckpointDocument,
)
from millrace.cluster.insights.rules import (
    SEVERITIES,
    checkpoints,
    everything_filtered,
    failures,
    insights,
    overhead,
    silent_sources,
)


def epochs(count: int, duration: int, **phases: float) -> tuple[EpochDocument, ...]:
    return tuple(EpochDocument(each, NOW, duration, 100, None, phases) for each in range(count))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (epochs(10, 1000, plan=400, start=300, process=300), ["planning"]),
        (epochs(10, 1000, process=300, record=200, commit=450), ["committing"]),
        (epochs(10, 1000, plan=300, process=400, commit=300), []),
        (epochs(10, 100, plan=90, process=10), []),
        (epochs(2, 1000, plan=900), []),
        ((), []),
    ],
)
def test_what_epochs_are_spent_on(of: tuple[EpochDocument, ...], expected: list[str]) -> None:
    assert [each.rule for each in overhead(job(epochs=of))] == expected


def history(
    *statuses: str, duration: int = 1000, tasks: tuple[TaskCheckpointDocument, ...] = ()
) -> CheckpointsDocument:
    made = tuple(
        CheckpointDocument(
            id=100 - number,
            savepoint=False,
            status=status,
            triggered=NOW - 60_000 * (number + 1),
            duration=duration,
            failure="OSError: No space left on device\n  at x" if status == "FAILED" else None,
            tasks=tasks,
        )
        for number, status in enumerate(statuses)
    )
    return CheckpointsDocument(CheckpointConfigDocument(interval=30_000), history=made)


def test_checkpoints_that_fail_say_why_and_what_is_at_stake() -> None:
    (one,) = checkpoints(job(checkpoints=history("FAILED", "FAILED", "FAILED", "COMPLETED")))
    assert one.severity == "error" and "last 3 checkpoints failed. The last one: OSError: No space left" in one.text
    assert "go back 4 min" in one.advice
    (one,) = checkpoints(job(checkpoints=history("FAILED", "COMPLETED")))
    assert one.severity == "warning"
    (one,) = checkpoints(job(checkpoints=history("IN_PROGRESS", "FAILED")))
    assert one.severity == "error" and "no checkpoint to go back to" in one.advice


def test_checkpoints_that_take_longer_than_their_interval() -> None:
    tasks = (TaskCheckpointDocument(id_of("Count"), 1, 1, NOW, 1, 1, 900),)
    count = vertex("Count")
    (one,) = checkpoints(job(count, checkpoints=history("COMPLETED", duration=45_000, tasks=tasks)))
    assert "took 45 s on average, longer than the interval of 30 s" in one.text and "“Count”" in one.text
    assert list(checkpoints(job(checkpoints=history("COMPLETED", "FAILED")))) == []


def failure(ago: int, text: str = "job.py:12 in parse: ValueError: bad") -> ExceptionDocument:
    return ExceptionDocument("builtins.ValueError", text, "Traceback", NOW - ago)


def test_a_loop_of_restarts_names_the_common_cause() -> None:
    (one,) = failures(job(exceptions=tuple(failure(each * 60_000) for each in range(1, 5))))
    assert one.rule == "restart-loop" and "failed 4 times within 4 min, every time because of this" in one.text
    assert "job.py:12 in parse: ValueError: bad" in one.text
    mixed = (failure(1000, "other"), failure(2000), failure(3000))
    (one,) = failures(job(exceptions=mixed))
    assert "2 times because of this: job.py:12" in one.text


def test_a_failed_job_tells_its_cause_and_old_failures_are_forgotten() -> None:
    (one,) = failures(job(state="FAILED", ended=NOW, exceptions=(failure(0, "bad"),)))
    assert one.text == "The job failed: ValueError: bad"
    assert list(failures(job(exceptions=tuple(failure(3_600_000 + each) for each in range(5))))) == []
    assert list(failures(job(state="CANCELED", ended=NOW, exceptions=(failure(1),) * 5))) == []


def test_a_source_that_reads_nothing() -> None:
    (one,) = silent_sources(job(vertex("Source: t -> Map", [{"metrics": metrics(**{"Source: t__numRecordsOut": 0})}])))
    assert "“Source: t” has read nothing in 59 min 59 s" in one.text
    assert list(silent_sources(job(vertex("Source: t", [{"records_out": 3}])))) == []
    assert list(silent_sources(job(vertex("Source: t"), started=NOW - 5_000))) == []
    assert list(silent_sources(job(vertex("Source: t", [{"state": "FINISHED"}])))) == []


def test_a_filter_that_lets_nothing_through() -> None:
    chain = {"Source: t__numRecordsOut": 500, "Filter__numRecordsIn": 500, "Filter__numRecordsOut": 0}
    source = vertex("Source: t -> Filter", [{"metrics": metrics(**chain)}])
    (one,) = everything_filtered(job(source, vertex("Sink", after=["Source: t -> Filter"])))
    assert "“Filter” has got 500 records and passed on none" in one.text
    assert (
        list(everything_filtered(job(vertex("Source"), vertex("Sink", [{"records_in": 500}], after=["Source"])))) == []
    )
    some = vertex("Map", [{"records_in": 500, "records_out": 1}], after=["Source"])
    assert list(everything_filtered(job(vertex("Source"), some, vertex("Sink", after=["Map"])))) == []


def test_a_well_job_gets_no_finding() -> None:
    calm = {"busy": 0.3, "backpressured": 0.0, "records_in": 10, "records_out": 10, "watermark": NOW}
    document = job(vertex("Source", [calm]), vertex("Sink", [calm], after=["Source"]), checkpoints=history("COMPLETED"))
    assert insights(document) == []
    assert insights(job()) == []


def test_the_worst_comes_first() -> None:
    document = job(
        vertex("Source", [{"backpressured": 0.9, "records_out": 5}]),
        vertex("Sink", [{"busy": 1.0, "records_in": 5}], after=["Source"]),
        checkpoints=history("FAILED", "FAILED", "FAILED"),
        exceptions=(),
    )
    severities = [SEVERITIES.index(each.severity) for each in insights(document)]
    assert len(severities) == 2 and severities == sorted(severities)
