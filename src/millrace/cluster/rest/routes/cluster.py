"""The cluster as a whole: overview, configuration of pages, shutting it down, data sets."""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from typing import TypedDict

from millrace.cluster.rest.answers.overview import ClusterOverview, DashboardConfiguration, dashboard, overview
from millrace.cluster.rest.routes.asynchronous import AsynchronousOperationResult, TriggerResponse, begin, result
from millrace.cluster.rest.web.call import Call
from millrace.cluster.rest.web.errors import missing
from millrace.cluster.rest.web.operation import Operation


class ClusterDataSetEntry(TypedDict):
    """A data set that is kept between jobs."""

    id: str
    isComplete: bool


class ClusterDataSetListResponseBody(TypedDict):
    """Always empty: Spark's caches are its own."""

    dataSets: list[ClusterDataSetEntry]


def _overview(call: Call) -> ClusterOverview:
    return overview(call.holder.jobs(), call.holder.task_managers())


def _configuration(call: Call) -> DashboardConfiguration:
    settings, submits = call.settings, call.site.programs is not None
    cancels = settings.cancel and not settings.history
    return dashboard(settings.refresh_interval, submits and not settings.history, cancels, settings.history)


def _shut_down(call: Call) -> None:
    call.holder.shut_down()


def _data_sets(call: Call) -> ClusterDataSetListResponseBody:
    return {"dataSets": []}


def _delete_data_set(call: Call) -> TriggerResponse:
    """There are none, so it is gone at once; the same in Flink."""

    def start() -> Future[None]:
        future: Future[None] = Future()
        future.set_result(None)
        return future

    return begin(call, "data set", "", uuid.uuid4().hex, start)


def _data_set_status(call: Call) -> AsynchronousOperationResult:
    found = call.site.triggers.find(("data set", "", call.path["triggerid"]))
    if found is None:
        raise missing(f"Operation not found under key: {call.path['triggerid']}")
    return result(found, "failure-cause", lambda _: {})


OPERATIONS = (
    Operation("GET", "/overview", _overview, "The cluster in a few numbers.", ClusterOverview),
    Operation("GET", "/config", _configuration, "What pages need to know.", DashboardConfiguration, history=True),
    Operation("DELETE", "/cluster", _shut_down, "Shut the cluster down with all its jobs."),
    Operation("GET", "/datasets", _data_sets, "Data sets: always empty.", ClusterDataSetListResponseBody),
    Operation("DELETE", "/datasets/{datasetid}", _delete_data_set, "Delete a data set.", TriggerResponse, 202),
    Operation(
        "GET",
        "/datasets/delete/{triggerid}",
        _data_set_status,
        "What came of a deletion.",
        AsynchronousOperationResult,
    ),
)
