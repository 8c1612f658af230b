"""Names of metrics as reporters get them: identifiers, logical scopes, variables."""

from __future__ import annotations

import pytest
from tests.metrics.reporters.samples import ALL, COUNTER, EPOCHS, GROUPED, LENGTHS, METER, TEXT, of_operator, setup

from millrace.metrics.report import CounterSnapshot, MetricEntry
from millrace.metrics.reporters.reporter import ReportedMetric
from millrace.metrics.reporters.scheduling import setups

LOG = "org.apache.flink.metrics.slf4j.Slf4jReporterFactory"


def one(entry: MetricEntry, **options: object) -> ReportedMetric:
    (found,) = setup(LOG, **options).select([entry])
    return found


def test_identifiers_are_flinks() -> None:
    assert one(COUNTER).identifier() == "h.taskmanager.spark.my job.Map.0.numRecordsIn"
    assert one(EPOCHS).identifier() == "h.jobmanager.my job.numEpochs"
    assert one(GROUPED).identifier() == "h.taskmanager.spark.my job.Map.0.table.orders.late"


def test_a_delimiter_of_its_own() -> None:
    assert one(GROUPED, scope__delimiter="_").identifier() == "h_taskmanager_spark_my job_Map_0_table_orders_late"


def test_characters_are_cleaned_in_parts_only() -> None:
    entry = of_operator(("a.b",), CounterSnapshot(1))
    cleaned = one(entry).identifier(lambda part: part.replace(".", "-"))
    assert cleaned == "h.taskmanager.spark.my job.Map.0.a-b"


def test_formats_of_the_configuration() -> None:
    configuration = {
        "metrics.reporters": "r",
        "metrics.reporter.r.factory.class": LOG,
        "metrics.scope.operator": "<job_name>.<operator_name>",
        "metrics.scope.jm-job": "jobs.<job_name>",
    }
    (only,) = setups(configuration, "my job")
    assert [metric.identifier() for metric in only.select([COUNTER, EPOCHS])] == [
        "my job.Map.numRecordsIn",
        "jobs.my job.numEpochs",
    ]


def test_logical_scopes_have_no_values_of_key_value_groups() -> None:
    assert one(COUNTER).logical(".") == "taskmanager.job.task.operator.numRecordsIn"
    assert one(GROUPED).logical("_") == "taskmanager_job_task_operator_table_late"
    assert one(EPOCHS).logical(".") == "jobmanager.job.numEpochs"
    task = MetricEntry(("busyTimeMsPerSecond",), CounterSnapshot(1), {"<job_name>": "j"}, subtask=0, vertex="v")
    assert one(task).logical(".") == "taskmanager.job.task.busyTimeMsPerSecond"


def test_variables_are_excluded_and_added() -> None:
    options = {"scope__variables__excludes": "job_id;<tm_id>", "scope__variables__additional": "cluster:a,zone:'b,c'"}
    variables = one(COUNTER, **options).variables
    assert "job_id" not in variables and "tm_id" not in variables
    assert (variables["cluster"], variables["zone"], variables["operator_name"]) == ("a", "b,c", "Map")
    assert one(COUNTER, **options).identifier() == one(COUNTER).identifier()


@pytest.mark.parametrize(
    ("includes", "excludes", "expected"),
    [
        ("", "", {"numRecordsIn", "perSecond", "last", "late", "lengths", "numEpochs"}),
        ("jobmanager.job", "", {"numEpochs"}),
        ("*.job", "", {"numEpochs"}),
        ("*operator", "", {"numRecordsIn", "perSecond", "last", "lengths"}),
        ("*operator.*", "", {"late"}),
        ("*:num*,late", "", {"numRecordsIn", "late", "numEpochs"}),
        ("*:*:meter,histogram", "", {"perSecond", "lengths"}),
        ("*:num*:counter;*:last:gauge", "", {"numRecordsIn", "numEpochs", "last"}),
        ("*:num*", "jobmanager*", {"numRecordsIn"}),
        ("", "*:*:counter", {"perSecond", "last", "lengths"}),
        ("taskmanager.jobs*", "", set()),
        ("taskmanagerxjob*", "", set()),
    ],
)
def test_filters(includes: str, excludes: str, expected: set[str]) -> None:
    options = {"filter__includes": includes, "filter__excludes": excludes}
    found = setup(LOG, **options).select([COUNTER, METER, TEXT, GROUPED, LENGTHS, EPOCHS])
    assert {metric.name for metric in found} == expected


@pytest.mark.parametrize("filter", ["a:b:c:d", "*:*:number", ":x"])
def test_filters_that_cannot_be_read(filter: str) -> None:
    with pytest.raises(ValueError, match=r"metrics\.reporter\.r: the filter"):
        setup(LOG, filter__includes=filter)


def test_each_metric_has_a_type() -> None:
    types = {metric.name: metric.type for metric in setup(LOG).select(ALL)}
    assert types["numRecordsIn"] == "counter"
    assert types["perSecond"] == "meter"
    assert types["currentInputWatermark"] == "gauge"
    assert types["latency"] == types["lengths"] == "histogram"
