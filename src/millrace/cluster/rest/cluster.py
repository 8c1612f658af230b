"""Operations on the cluster: overview, configuration of the pages, shutting down, data sets, log files; on task
managers, which are Spark's executors, and on the job manager, which is the driver.
"""

from __future__ import annotations

import platform
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TypedDict

import millrace
from millrace.cluster.control import JobOverError
from millrace.cluster.documents import JobDocument, TaskManagerDocument, ThreadDocument
from millrace.cluster.rest.call import NO_TASK_MANAGER, Answer, Call, RestError, broken, missing, refused
from millrace.cluster.rest.operation import Operation
from millrace.cluster.rest.results import AsynchronousOperationResult, TriggerResponse, begin, result
from millrace.cluster.rest.statistics import ENDED
from millrace.util.secrets import mask_options, mask_text

# The cluster as a whole

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


# Task managers and the job manager

_MB = 1024 * 1024


class ResourceProfile(TypedDict):
    """Processors, and memory in MB."""

    cpuCores: float
    taskHeapMemory: int
    taskOffHeapMemory: int
    managedMemory: int
    networkMemory: int
    extendedResources: dict[str, float]


class HardwareDescription(TypedDict):
    """The machine, in bytes."""

    cpuCores: int
    physicalMemory: int
    freeMemory: int
    managedMemory: int


class MemoryConfiguration(TypedDict):
    """Memory in bytes; Spark has one heap and no further division."""

    frameworkHeap: int
    taskHeap: int
    frameworkOffHeap: int
    taskOffHeap: int
    networkMemory: int
    managedMemory: int
    jvmMetaspace: int
    jvmOverhead: int
    totalFlinkMemory: int
    totalProcessMemory: int


class TaskManagerInfo(TypedDict):
    """A task manager in a list."""

    id: str
    path: str
    dataPort: int
    jmxPort: int
    timeSinceLastHeartbeat: int
    slotsNumber: int
    freeSlots: int
    assignedTasks: int
    totalResource: ResourceProfile
    freeResource: ResourceProfile
    hardware: HardwareDescription
    memoryConfiguration: MemoryConfiguration


class TaskManagersInfo(TypedDict):
    """The list."""

    taskmanagers: list[TaskManagerInfo]


class SlotInfo(TypedDict):
    """A slot that a job has."""

    jobId: str
    resource: ResourceProfile
    assignedTasks: int


class GarbageCollector(TypedDict):
    """A garbage collector."""

    name: str
    count: int
    time: int


class TaskManagerMetrics(TypedDict):
    """Memory, in bytes. Spark has no such shuffle memory as Flink's."""

    heapUsed: int
    heapCommitted: int
    heapMax: int
    nonHeapUsed: int
    nonHeapCommitted: int
    nonHeapMax: int
    directCount: int
    directUsed: int
    directMax: int
    mappedCount: int
    mappedUsed: int
    mappedMax: int
    nettyShuffleMemorySegmentsAvailable: int
    nettyShuffleMemorySegmentsUsed: int
    nettyShuffleMemorySegmentsTotal: int
    nettyShuffleMemoryAvailable: int
    nettyShuffleMemoryUsed: int
    nettyShuffleMemoryTotal: int
    garbageCollectors: list[GarbageCollector]


class TaskManagerDetailsInfo(TaskManagerInfo):
    """A task manager with its slots and memory."""

    allocatedSlots: list[SlotInfo]
    metrics: TaskManagerMetrics


def _resource(manager: TaskManagerDocument, slots: int) -> ResourceProfile:
    share = slots / manager.slots if manager.slots else 0.0
    return {
        "cpuCores": float(slots),
        "taskHeapMemory": int(manager.heap_max * share) // _MB,
        "taskOffHeapMemory": int(manager.worker_memory * share) // _MB,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }


def task_manager(manager: TaskManagerDocument) -> TaskManagerInfo:
    """A task manager in a list."""
    return {
        "id": manager.id,
        "path": f"spark://{manager.host}:{manager.port}/{manager.id}",
        "dataPort": manager.port,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": manager.last_heartbeat,
        "slotsNumber": manager.slots,
        "freeSlots": manager.free_slots,
        "assignedTasks": manager.tasks,
        "totalResource": _resource(manager, manager.slots),
        "freeResource": _resource(manager, manager.free_slots),
        "hardware": {
            "cpuCores": manager.cores,
            "physicalMemory": manager.physical_memory,
            "freeMemory": manager.free_memory,
            "managedMemory": 0,
        },
        "memoryConfiguration": {
            "frameworkHeap": 0,
            "taskHeap": manager.heap_max,
            "frameworkOffHeap": 0,
            "taskOffHeap": 0,
            "networkMemory": 0,
            "managedMemory": 0,
            "jvmMetaspace": 0,
            "jvmOverhead": 0,
            "totalFlinkMemory": manager.heap_max,
            "totalProcessMemory": manager.heap_max,
        },
    }


def task_managers(managers: Sequence[TaskManagerDocument]) -> TaskManagersInfo:
    return {"taskmanagers": [task_manager(each) for each in managers]}


def task_manager_details(manager: TaskManagerDocument, jobs: Sequence[JobDocument]) -> TaskManagerDetailsInfo:
    """A task manager with its slots and memory."""
    return {
        **task_manager(manager),
        "allocatedSlots": [slot for job in jobs if job.state not in ENDED for slot in _slots(manager, job)],
        "metrics": {
            "heapUsed": manager.heap_used,
            "heapCommitted": manager.heap_max,
            "heapMax": manager.heap_max,
            "nonHeapUsed": manager.worker_memory,
            "nonHeapCommitted": manager.worker_memory,
            "nonHeapMax": -1,
            "directCount": 0,
            "directUsed": 0,
            "directMax": 0,
            "mappedCount": 0,
            "mappedUsed": 0,
            "mappedMax": 0,
            "nettyShuffleMemorySegmentsAvailable": 0,
            "nettyShuffleMemorySegmentsUsed": 0,
            "nettyShuffleMemorySegmentsTotal": 0,
            "nettyShuffleMemoryAvailable": 0,
            "nettyShuffleMemoryUsed": 0,
            "nettyShuffleMemoryTotal": 0,
            "garbageCollectors": [],
        },
    }


def _slots(manager: TaskManagerDocument, job: JobDocument) -> list[SlotInfo]:
    """The slots of a task manager: one for each subtask index of a slot sharing group, whose subtasks share the
    slot."""
    counts: dict[tuple[str, int], int] = {}
    for vertex in job.vertices:
        for each in vertex.subtasks:
            if each.task_manager == manager.id and each.state not in ENDED:
                key = vertex.slot_sharing_group, each.index
                counts[key] = counts.get(key, 0) + 1
    return [{"jobId": job.id, "resource": _resource(manager, 1), "assignedTasks": count} for count in counts.values()]


# Threads


class ThreadInfo(TypedDict):
    """A thread with its stack."""

    threadName: str
    stringifiedThreadInfo: str


class ThreadDumpInfo(TypedDict):
    """The threads."""

    threadInfos: list[ThreadInfo]


def thread_dump(threads: Sequence[ThreadDocument]) -> ThreadDumpInfo:
    """The threads with their stacks. Secrets are masked in their text, since stacks may show arguments."""
    return {
        "threadInfos": [{"threadName": each.name, "stringifiedThreadInfo": mask_text(each.text)} for each in threads]
    }


# Operations


class JVMInfo(TypedDict):
    """What runs the server: here it is Python."""

    version: str
    arch: str
    options: list[str]


class ProfilingList(TypedDict):
    """Always empty: what Python does is seen in flame graphs."""

    profilingList: list[str]


class EnvironmentInfo(TypedDict):
    """What runs the server, and from where."""

    jvm: JVMInfo
    classpath: list[str]


def _list_task_managers(call: Call) -> TaskManagersInfo:
    return task_managers(call.holder.task_managers())


def _find(call: Call) -> TaskManagerDocument:
    id = call.path["taskmanagerid"]
    found = next((each for each in call.holder.task_managers() if each.id == id), None)
    if found is None:
        raise broken(NO_TASK_MANAGER, f"No TaskExecutor registered under {id}.")
    return found


def _details(call: Call) -> TaskManagerDetailsInfo:
    return task_manager_details(_find(call), call.holder.jobs())


def _threads_of_workers(call: Call) -> ThreadDumpInfo:
    manager = _find(call)
    found: list[ThreadDocument] = []
    for job in call.holder.jobs():
        control = None if job.state in ENDED else call.holder.control(job.id)
        if control is not None:
            try:
                found += control.threads(manager.id)
            except JobOverError:  # it has just ended
                continue
    return thread_dump(found)


def _threads(call: Call) -> ThreadDumpInfo:
    return thread_dump(call.holder.threads())


def _cluster_configuration(call: Call) -> list[ConfigurationInfoEntry]:
    return configuration(call.holder.configuration())


def _configuration_of_job(call: Call) -> list[ConfigurationInfoEntry]:
    """The cluster's configuration, also for unknown jobs. A history server answers with the configuration in the job's
    archive."""
    if not call.settings.history:
        return _cluster_configuration(call)
    job = call.holder.job(call.path.get("jobid") or call.path["applicationid"])
    if job is None:
        raise missing("There is no such job.")
    return configuration(job.configuration)


def _environment(call: Call) -> EnvironmentInfo:
    version = f"{platform.python_implementation()} {platform.python_version()} ({platform.system()})"
    paths = [each for each in sys.path if each]
    return {"jvm": {"version": version, "arch": platform.machine(), "options": []}, "classpath": paths}


def _profiles(call: Call) -> ProfilingList:
    if "taskmanagerid" in call.path:
        _find(call)
    return {"profilingList": []}


MANAGER_OPERATIONS = (
    Operation("GET", "/taskmanagers", _list_task_managers, "All task managers.", TaskManagersInfo),
    Operation("GET", "/taskmanagers/{taskmanagerid}", _details, "A task manager.", TaskManagerDetailsInfo),
    Operation(
        "GET",
        "/taskmanagers/{taskmanagerid}/thread-dump",
        _threads_of_workers,
        "The threads of the workers on a task manager.",
        ThreadDumpInfo,
    ),
    Operation("GET", "/jobmanager/profiler", _profiles, "Profiles: always empty.", ProfilingList),
    Operation("GET", "/taskmanagers/{taskmanagerid}/profiler", _profiles, "Profiles: always empty.", ProfilingList),
    Operation("GET", "/jobmanager/thread-dump", _threads, "The threads of the server.", ThreadDumpInfo),
    Operation(
        "GET",
        "/jobmanager/config",
        _cluster_configuration,
        "The cluster's configuration.",
        list[ConfigurationInfoEntry],
    ),
    Operation("GET", "/jobmanager/environment", _environment, "What runs the server.", EnvironmentInfo),
    Operation("GET", "/jobs/{jobid}/jobmanager/environment", _environment, "What runs the server.", EnvironmentInfo),
    *(
        Operation(
            "GET",
            f"{place}/jobmanager/config",
            _configuration_of_job,
            "The cluster's configuration.",
            list[ConfigurationInfoEntry],
            history=True,
        )
        for place in ("/jobs/{jobid}", "/applications/{applicationid}")
    ),
)
