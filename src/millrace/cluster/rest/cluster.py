"""Operations on the cluster as a whole: overview, configuration of the pages, shutting down, data sets, log files."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TypedDict

import millrace
from millrace.cluster.documents import JobDocument, TaskManagerDocument
from millrace.cluster.rest.call import Answer, Call, RestError, broken, missing, refused
from millrace.cluster.rest.operation import Operation
from millrace.cluster.rest.results import AsynchronousOperationResult, TriggerResponse, begin, result
from millrace.cluster.rest.statistics import ENDED
from millrace.util.secrets import mask_options

FLINK = "2.3.0"
"""The Flink version whose API is served: tools read it to find out which operations exist."""

ClusterOverview = TypedDict(
    "ClusterOverview",
    {
        "taskmanagers": int,
        "slots-total": int,
        "slots-available": int,
        "jobs-running": int,
        "jobs-finished": int,
        "jobs-cancelled": int,
        "jobs-failed": int,
        "flink-version": str,
        "flink-commit": str,
    },
)
Features = TypedDict("Features", {"web-submit": bool, "web-cancel": bool, "web-rescale": bool, "web-history": bool})
DashboardConfiguration = TypedDict(
    "DashboardConfiguration",
    {
        "refresh-interval": int,
        "timezone-name": str,
        "timezone-offset": int,
        "flink-version": str,
        "flink-revision": str,
        "features": Features,
    },
)


class ConfigurationInfoEntry(TypedDict):
    """An option that is set."""

    key: str
    value: str


def revision() -> str:
    return f"millrace-{millrace.__version__}"


def overview(jobs: Sequence[JobDocument], managers: Sequence[TaskManagerDocument]) -> ClusterOverview:
    """The cluster in a few numbers."""
    states = [each.state for each in jobs]
    return {
        "taskmanagers": len(managers),
        "slots-total": sum(each.slots for each in managers),
        "slots-available": sum(each.free_slots for each in managers),
        "jobs-running": sum(state not in ENDED for state in states),
        "jobs-finished": states.count("FINISHED"),
        "jobs-cancelled": states.count("CANCELED"),
        "jobs-failed": states.count("FAILED"),
        "flink-version": FLINK,
        "flink-commit": revision(),
    }


def dashboard(refresh: int, submit: bool, cancel: bool, history: bool) -> DashboardConfiguration:
    """What pages need to know."""
    here = time.localtime()
    return {
        "refresh-interval": refresh,
        "timezone-name": here.tm_zone,
        "timezone-offset": here.tm_gmtoff * 1000,
        "flink-version": FLINK,
        "flink-revision": revision(),
        "features": {"web-submit": submit, "web-cancel": cancel, "web-rescale": False, "web-history": history},
    }


def configuration(options: Mapping[str, str]) -> list[ConfigurationInfoEntry]:
    """Options, without secrets."""
    return [{"key": key, "value": value} for key, value in mask_options(options).items()]


# Operations


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
    """Delete a data set: succeeds at once, because there are none; so does Flink."""

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


# Log files, of the cluster and of task managers

TEXT = "text/plain; charset=UTF-8"


class LogInfo(TypedDict):
    """A log file."""

    name: str
    size: int
    mtime: int


class LogListInfo(TypedDict):
    """The log files."""

    logs: list[LogInfo]


class LogUrlResponse(TypedDict):
    """Where the logs are shown."""

    url: str


def _manager(call: Call) -> str | None:
    """The task manager that the path names; None if the path names none."""
    id: str | None = call.path.get("taskmanagerid")
    if id is not None and all(each.id != id for each in call.holder.task_managers()):
        raise refused(404, f"Could not find TaskExecutor {id}")
    return id


def _list(call: Call) -> LogListInfo:
    files = call.holder.logs(_manager(call))
    return {"logs": [{"name": each.name, "size": each.size, "mtime": each.modified} for each in files]}


def _no_file(call: Call) -> RestError:
    id = call.path.get("taskmanagerid")
    if id is None:
        return RestError(404, "This file does not exist in JobManager log dir.")
    return broken("org.apache.flink.util.FlinkException", f"Failed to transfer file from TaskExecutor {id}.")


def _known_manager(call: Call) -> str | None:
    try:
        return _manager(call)
    except RestError:
        id = call.path["taskmanagerid"]
        text = f"Failed to transfer file from TaskExecutor {id} because it was unknown."
        raise missing(text) from None


def _read(call: Call, manager: str | None, name: str) -> Answer:
    """The content of a log. Only listed logs are read, so a name leads to no other file."""
    if all(each.name != name for each in call.holder.logs(manager)):
        raise _no_file(call)
    content = call.holder.read_log(manager, name)
    if content is None:
        raise _no_file(call)
    return Answer(content, media=TEXT, encoded=True)


def _named(call: Call) -> Answer:
    return _read(call, _known_manager(call), call.path["file"])


def _first(call: Call, suffix: str) -> Answer:
    manager = _known_manager(call)
    for each in call.holder.logs(manager):
        if each.name.endswith(suffix):
            return _read(call, manager, each.name)
    raise _no_file(call)


def _log(call: Call) -> Answer:
    return _first(call, ".log")


def _stdout(call: Call) -> Answer:
    """The standard output of a task manager or the driver; empty if it was not written to a file, since pages ask for
    it in any case."""
    manager = _known_manager(call)
    if any(each.name.endswith(".out") for each in call.holder.logs(manager)):
        return _first(call, ".out")
    return Answer(b"", media=TEXT, encoded=True)


def _of_job_manager(call: Call) -> LogUrlResponse:
    return {"url": f"{call.address}/#/job-manager/logs"}


def _of_task_manager(call: Call) -> LogUrlResponse:
    return {"url": f"{call.address}/#/task-manager/{call.path['taskmanagerid']}/logs"}


LOG_OPERATIONS = (
    *(
        operation
        for place in ("/jobmanager", "/taskmanagers/{taskmanagerid}")
        for operation in (
            Operation("GET", f"{place}/logs", _list, "Log files.", LogListInfo),
            Operation("GET", f"{place}/logs/{{file}}", _named, "A log file.", str, media="text/plain"),
            Operation("GET", f"{place}/log", _log, "The log.", str, media="text/plain"),
            Operation("GET", f"{place}/stdout", _stdout, "What was printed.", str, media="text/plain"),
        )
    ),
    Operation("GET", "/jobs/{jobid}/jobmanager/log-url", _of_job_manager, "Where logs are shown.", LogUrlResponse),
    Operation(
        "GET",
        "/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url",
        _of_task_manager,
        "Where a task manager's logs are shown.",
        LogUrlResponse,
    ),
)
