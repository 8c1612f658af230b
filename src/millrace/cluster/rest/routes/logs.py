"""Log files, of the cluster and of task managers."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.rest.web.call import Answer, Call
from millrace.cluster.rest.web.errors import RestError, broken, missing, refused
from millrace.cluster.rest.web.operation import Operation

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
    """The task manager that the path names, which must be there; None: it names none."""
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
    """Only what is listed is read, so a name leads nowhere else."""
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
    """Nothing, where nothing was printed to a file: pages ask for it, whether there is one or not."""
    manager = _known_manager(call)
    if any(each.name.endswith(".out") for each in call.holder.logs(manager)):
        return _first(call, ".out")
    return Answer(b"", media=TEXT, encoded=True)


def _of_job_manager(call: Call) -> LogUrlResponse:
    return {"url": f"{call.address}/#/job-manager/logs"}


def _of_task_manager(call: Call) -> LogUrlResponse:
    return {"url": f"{call.address}/#/task-manager/{call.path['taskmanagerid']}/logs"}


OPERATIONS = (
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
