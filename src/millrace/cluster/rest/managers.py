"""Operations on task managers, which are Spark's executors, and on the job manager, which is the driver."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import TypedDict

from millrace.cluster.control import JobOverError
from millrace.cluster.documents import JobDocument, TaskManagerDocument, ThreadDocument
from millrace.cluster.rest.call import NO_TASK_MANAGER, Call, broken, missing
from millrace.cluster.rest.cluster import ConfigurationInfoEntry, configuration
from millrace.cluster.rest.operation import Operation
from millrace.cluster.rest.statistics import ENDED
from millrace.util.secrets import mask_text

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


def _list(call: Call) -> TaskManagersInfo:
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


def _configuration(call: Call) -> list[ConfigurationInfoEntry]:
    return configuration(call.holder.configuration())


def _configuration_of_job(call: Call) -> list[ConfigurationInfoEntry]:
    """The cluster's configuration, also for unknown jobs. A history server answers with the configuration in the job's
    archive."""
    if not call.settings.history:
        return _configuration(call)
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


OPERATIONS = (
    Operation("GET", "/taskmanagers", _list, "All task managers.", TaskManagersInfo),
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
        "GET", "/jobmanager/config", _configuration, "The cluster's configuration.", list[ConfigurationInfoEntry]
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
