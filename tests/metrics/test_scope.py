"""How the identifiers of metrics begin: Flink's formats, with what a configuration changes of them."""

from __future__ import annotations

from millrace.metrics.report import GaugeSnapshot, MetricEntry, ScopeFormats

VARIABLES = {
    "<host>": "h",
    "<tm_id>": "3",
    "<job_name>": "my job",
    "<task_name>": "Map -> Sink",
    "<operator_name>": "Map",
    "<subtask_index>": "1",
}
OF_JOB = MetricEntry(("uptime",), GaugeSnapshot(1), VARIABLES)
OF_TASK = MetricEntry(("numBytesIn",), GaugeSnapshot(1), VARIABLES, subtask=1, vertex="v")
OF_OPERATOR = MetricEntry(("mine", "seen"), GaugeSnapshot(1), VARIABLES, "Map", "m", 1)


def names(configuration: dict[str, str]) -> list[str]:
    formats = ScopeFormats.of(configuration)
    return [entry.in_formats(formats) for entry in (OF_JOB, OF_TASK, OF_OPERATOR)]


def test_flinks_defaults() -> None:
    assert names({}) == [
        "h.jobmanager.my job.uptime",
        "h.taskmanager.3.my job.Map -> Sink.1.numBytesIn",
        "h.taskmanager.3.my job.Map.1.mine.seen",
    ]
    assert [entry.identifier() for entry in (OF_JOB, OF_TASK, OF_OPERATOR)] == names({})


def test_formats_of_ones_own() -> None:
    configuration = {
        "metrics.scope.jm-job": "jobs.<job_name>",
        "metrics.scope.task": "t.<task_name>.<unknown>",
        "metrics.scope.operator": "<operator_name>-<subtask_index>",
    }
    assert names(configuration) == ["jobs.my job.uptime", "t.Map -> Sink.<unknown>.numBytesIn", "Map-1.mine.seen"]


def test_a_star_stands_for_the_scope_above() -> None:
    configuration = {
        "metrics.scope.jm": "manager",
        "metrics.scope.jm-job": "*.<job_name>",
        "metrics.scope.tm": "worker.<tm_id>",
        "metrics.scope.tm-job": "*.<job_name>",
        "metrics.scope.task": "*.<task_name>",
        "metrics.scope.operator": "*.<operator_name>",
    }
    assert names(configuration) == [
        "manager.my job.uptime",
        "worker.3.my job.Map -> Sink.numBytesIn",
        "worker.3.my job.Map -> Sink.Map.mine.seen",
    ]


def test_another_delimiter() -> None:
    assert names({"metrics.scope.delimiter": "_"})[2] == "h_taskmanager_3_my job_Map_1_mine_seen"
