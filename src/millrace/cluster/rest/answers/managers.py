"""Task managers: Spark's executors, in Flink's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.states import ENDED

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
    """One for each subtask index of a slot sharing group: these share a slot."""
    counts: dict[tuple[str, int], int] = {}
    for vertex in job.vertices:
        for each in vertex.subtasks:
            if each.task_manager == manager.id and each.state not in ENDED:
                key = vertex.slot_sharing_group, each.index
                counts[key] = counts.get(key, 0) + 1
    return [{"jobId": job.id, "resource": _resource(manager, 1), "assignedTasks": count} for count in counts.values()]
