"""A job's metrics: found by operator and name, added up over the subtasks, named as Flink names them."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.metrics.report import (
    JOB_SCOPE,
    OPERATOR_SCOPE,
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    MetricEntry,
    MetricSnapshot,
    MetricsReport,
    in_scope,
)

VARIABLES = {"<host>": "h", "<tm_id>": "spark", "<job_name>": "job", "<operator_name>": "map", "<subtask_index>": "1"}


def entry(operator: str | None, uid: str | None, subtask: int | None, path: str, value: MetricSnapshot) -> MetricEntry:
    return MetricEntry(tuple(path.split(".")), value, VARIABLES, operator, uid, subtask)


REPORT = MetricsReport(
    (
        entry(None, None, None, "numEpochs", CounterSnapshot(3)),
        entry("map", "m", 0, "mine.seen", CounterSnapshot(1)),
        entry("map", "m", 1, "mine.seen", CounterSnapshot(2)),
        entry("map", "m", 0, "size", DistributionSnapshot(1, 4, 4, 4)),
        entry("map", "m", 1, "size", DistributionSnapshot(2, 6, 1, 5)),
        entry("map", "m", 0, "last", GaugeSnapshot("a")),
        entry("map", "m", 1, "last", GaugeSnapshot("b")),
        entry("twin", "t1", 0, "n", CounterSnapshot(5)),
        entry("twin", "t2", 0, "n", CounterSnapshot(6)),
        entry("single", "s", 0, "last", GaugeSnapshot(9)),
    )
)


def test_subtasks_add_up() -> None:
    assert REPORT.counter("map", "mine.seen") == REPORT.counter("m", "mine.seen") == 3
    size = REPORT.get("map", "size")
    assert size == DistributionSnapshot(3, 10, 1, 5)
    assert size.mean == 10 / 3
    assert REPORT.by_subtask("map", "mine.seen") == {0: CounterSnapshot(1), 1: CounterSnapshot(2)}
    assert REPORT.get("single", "last") == GaugeSnapshot(9)
    assert REPORT.job("numEpochs") == CounterSnapshot(3)
    assert REPORT.operators() == ["map", "twin", "single"]
    assert len(list(REPORT)) == 10
    assert DistributionSnapshot(0, 0, None, None).mean is None


@pytest.mark.parametrize(
    ("ask", "error", "text"),
    [
        (lambda: REPORT.get("reduce", "n"), KeyError, "no operator 'reduce'; there are: map, twin, single"),
        (lambda: REPORT.get("map", "n"), KeyError, "'map' has no metric 'n'; there are: last, mine.seen, size"),
        (lambda: REPORT.get("twin", "n"), ValueError, r"several operators are called 'twin': ask by uid \(t1, t2\)"),
        (lambda: REPORT.get("map", "last"), ValueError, r"the gauge 'last' of 2 subtasks has no sum: use by_subtask"),
        (lambda: REPORT.counter("map", "size"), ValueError, "'size' of 'map' is no counter but a DistributionSnapshot"),
        (lambda: REPORT.job("numWords"), KeyError, "the job has no metric 'numWords'"),
    ],
)
def test_what_is_not_there_is_explained(ask: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ask()


def test_twins_are_told_apart_by_uid() -> None:
    assert (REPORT.counter("t1", "n"), REPORT.counter("t2", "n")) == (5, 6)


def test_identifiers() -> None:
    assert REPORT.entries[1].identifier() == "h.taskmanager.spark.job.map.1.mine.seen"
    assert REPORT.entries[0].identifier() == "h.jobmanager.job.numEpochs"
    assert REPORT.entries[1].identifier("<job_name>") == "job.mine.seen"
    assert REPORT.identifiers()["h.taskmanager.spark.job.map.1.mine.seen"] == CounterSnapshot(2)


def test_scopes() -> None:
    assert in_scope("<a>.x.<b>", {"<a>": "1"}, ("p", "q")) == "1.x.<b>.p.q"
    assert in_scope(JOB_SCOPE, {"<host>": "<job_name>", "<job_name>": "j"}, ("n",)) == "<job_name>.jobmanager.j.n"
    assert OPERATOR_SCOPE.count("<") == 5
