"""Metrics: of one thing, or aggregated over several."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.cluster.documents.vertices import SubtaskDocument
from millrace.cluster.rest.answers.aggregation import AGGREGATIONS, AggregatedMetric, aggregate
from millrace.cluster.rest.answers.metrics import (
    Metric,
    Metrics,
    job_manager_metrics,
    job_metrics,
    names_or_values,
    subtask_metrics,
    task_manager_metrics,
    vertex_metrics,
)
from millrace.cluster.rest.web.call import Call, at, find_vertex
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.parameters import HEX, Query, choice
from millrace.metrics.system import Machine, OwnProcess, wants_machine

_GET = Query("get", many=True)
_AGG = Query("agg", choice(*AGGREGATIONS), many=True)
_VERTEX = "/jobs/{jobid}/vertices/{vertexid}"


def _shown(call: Call, metrics: Metrics | None) -> list[Metric]:
    return [] if metrics is None else names_or_values(metrics, call.query.get("get", []))


def _aggregated(call: Call, owners: Sequence[Metrics]) -> list[AggregatedMetric]:
    return aggregate(owners, call.query.get("get", []), call.query.get("agg", []))


def _subtasks(call: Call) -> Sequence[SubtaskDocument]:
    """Of the vertex that the path names; none if it isn't there."""
    job = call.holder.job(call.path["jobid"])
    vertex = find_vertex(job, call.path["vertexid"]) if job else None
    return vertex.subtasks if vertex else ()


def _job(call: Call) -> list[Metric]:
    job = call.holder.job(call.path["jobid"])
    return _shown(call, None if job is None else job_metrics(job, at(job)))


def _jobs(call: Call) -> list[AggregatedMetric]:
    chosen = call.query.get("jobs")
    jobs = [each for each in call.holder.jobs() if chosen is None or each.id in chosen]
    return _aggregated(call, [job_metrics(each, at(each)) for each in jobs])


def _vertex(call: Call) -> list[Metric]:
    job = call.holder.job(call.path["jobid"])
    vertex = find_vertex(job, call.path["vertexid"]) if job else None
    return _shown(call, None if vertex is None else vertex_metrics(vertex))


def _subtask(call: Call) -> list[Metric]:
    index = call.path["subtaskindex"]
    found = next((each for each in _subtasks(call) if each.index == index), None)
    return _shown(call, None if found is None else subtask_metrics(found))


def _all_subtasks(call: Call) -> list[AggregatedMetric]:
    chosen = _indexes(call.query.get("subtasks"))
    subtasks = [each for each in _subtasks(call) if chosen is None or each.index in chosen]
    return _aggregated(call, [subtask_metrics(each) for each in subtasks])


def _indexes(texts: list[str] | None) -> set[int] | None:
    """``0,2-4`` -> 0, 2, 3, 4; what can't be read names no subtask, as in Flink."""
    if texts is None:
        return None
    chosen: set[int] = set()
    for text in texts:
        first, _, last = text.partition("-")
        if first.isdecimal() and (last.isdecimal() or "-" not in text) and len(first) < 10 and len(last) < 10:
            begin, end = int(first), int(last or first)
            chosen.update(range(begin, min(end, begin + 100_000) + 1))
    return chosen


def _task_manager(call: Call) -> list[Metric]:
    managers = [each for each in call.holder.task_managers() if each.id == call.path["taskmanagerid"]]
    return _shown(call, task_manager_metrics(managers[0]) if managers else None)


def _task_managers(call: Call) -> list[AggregatedMetric]:
    chosen = call.query.get("taskmanagers")
    managers = [each for each in call.holder.task_managers() if chosen is None or each.id in chosen]
    return _aggregated(call, [task_manager_metrics(each) for each in managers])


_OWN, _MACHINE = OwnProcess(), Machine()
"""This process serves: it is the job manager."""


def _job_manager(call: Call) -> list[Metric]:
    counted = job_manager_metrics(call.holder.jobs(), call.holder.task_managers())
    machine = _MACHINE.read() if wants_machine(call.holder.configuration()) else {}
    return _shown(call, {**counted, **_OWN.read(), **machine})


def _of_coordinators(call: Call) -> list[Metric]:
    """Millrace's coordinators of operators report with the job: there are none of their own."""
    return []


OPERATIONS = (
    Operation(
        "GET",
        "/jobs/metrics",
        _jobs,
        "Metrics of jobs, aggregated.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("jobs", HEX, many=True)),
    ),
    Operation("GET", "/jobs/{jobid}/metrics", _job, "Metrics of a job.", list[Metric], query=(_GET,)),
    Operation("GET", f"{_VERTEX}/metrics", _vertex, "Metrics of a vertex.", list[Metric], query=(_GET,)),
    Operation(
        "GET",
        f"{_VERTEX}/jm-operator-metrics",
        _of_coordinators,
        "Metrics of coordinators: always empty.",
        list[Metric],
        query=(_GET,),
    ),
    Operation(
        "GET",
        f"{_VERTEX}/subtasks/metrics",
        _all_subtasks,
        "Metrics of a vertex, aggregated over its subtasks.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("subtasks", many=True)),
    ),
    Operation(
        "GET",
        f"{_VERTEX}/subtasks/{{subtaskindex}}/metrics",
        _subtask,
        "Metrics of a subtask.",
        list[Metric],
        query=(_GET,),
    ),
    Operation(
        "GET",
        "/taskmanagers/metrics",
        _task_managers,
        "Metrics of task managers, aggregated.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("taskmanagers", many=True)),
    ),
    Operation(
        "GET",
        "/taskmanagers/{taskmanagerid}/metrics",
        _task_manager,
        "Metrics of a task manager.",
        list[Metric],
        query=(_GET,),
    ),
    Operation("GET", "/jobmanager/metrics", _job_manager, "Metrics of the cluster.", list[Metric], query=(_GET,)),
)
