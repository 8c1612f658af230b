"""Metrics: names alone, values, aggregates over jobs, subtasks and task managers."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask
from tests.flink.rest.asks.templates import MALFORMED, STATES, UNKNOWN

JOB = "/jobs/{jobid}/metrics"
VERTEX = "/jobs/{jobid}/vertices/{vertexid}/metrics"
SUBTASKS = "/jobs/{jobid}/vertices/{vertexid}/subtasks/metrics"
SUBTASK = "/jobs/{jobid}/vertices/{vertexid}/subtasks/{subtaskindex}/metrics"
WORKER = "/taskmanagers/{taskmanagerid}/metrics"
FREE = "Status.JVM.Memory.Heap.Used"


def asks() -> Iterator[Ask]:
    running = {"jobid": "@running"}
    vertex = {**running, "vertexid": "@running.vertex"}
    for query in (
        "get=uptime",
        "get=numRestarts,numberOfCompletedCheckpoints",
        "get=lastCheckpointSize,lastCheckpointDuration,lastCheckpointExternalPath",
        "get=runningTime,restartingTime,downtime,fullRestarts",
        "get=nothing",
        "get=",
    ):
        yield Ask(REST, "GET", JOB, STATES["running"], running, query)
    for state in ("finished", "failed", "restarting"):
        yield Ask(REST, "GET", JOB, STATES[state], {"jobid": f"@{state}"}, "get=numRestarts")
    for name in ("0.numRecordsIn,1.numRecordsOut", "0.busyTimeMsPerSecond", "7.numRecordsIn", "nothing"):
        query = f"get={name}"
        yield Ask(REST, "GET", VERTEX, STATES["running"], vertex, query)
    for query in ("get=numRecordsIn", "get=idleTimeMsPerSecond,backPressuredTimeMsPerSecond", "get=nothing"):
        yield Ask(REST, "GET", SUBTASK, STATES["running"], {**vertex, "subtaskindex": "1"}, query)
    yield from _aggregates(SUBTASKS, vertex, "numRecordsOut", "subtasks", ("0", "0,1", "0-1", "99", MALFORMED))
    jobs = ("@running", "@running,@plain", UNKNOWN, MALFORMED)
    yield from _aggregates("/jobs/metrics", {}, "numRestarts", "jobs", jobs)
    yield from _aggregates("/taskmanagers/metrics", {}, FREE, "taskmanagers", ("@taskmanager", "nobody"))
    for query in (f"get={FREE}", "get=Status.JVM.CPU.Load,Status.JVM.Threads.Count", "get=nothing"):
        yield Ask(REST, "GET", WORKER, "", {"taskmanagerid": "@taskmanager"}, query)
        yield Ask(REST, "GET", "/jobmanager/metrics", "", {}, query)
    for query in ("get=taskSlotsAvailable,taskSlotsTotal,numRegisteredTaskManagers,numRunningJobs",):
        yield Ask(REST, "GET", "/jobmanager/metrics", "", {}, query)
    yield Ask(REST, "GET", "/jobmanager/metrics")
    yield Ask(REST, "GET", "/jobs/{jobid}/vertices/{vertexid}/watermarks", "without watermarks", _plain())
    yield Ask(REST, "GET", "/jobs/{jobid}/vertices/{vertexid}/jm-operator-metrics", "with names", vertex, "get=nothing")


def _plain() -> dict[str, str]:
    return {"jobid": "@plain", "vertexid": "@plain.vertex"}


def _aggregates(path: str, given: dict[str, str], name: str, picks: str, picked: tuple[str, ...]) -> Iterator[Ask]:
    yield Ask(REST, "GET", path, "names alone", given)
    queries = [f"get={name}", f"get={name},nothing", "get=nothing"]
    modes = ("min", "max", "sum", "avg", "skew", "min,max", "MIN", "median", "")
    queries += [f"get={name}&agg={mode}" for mode in modes]
    queries += [f"get={name}&{picks}={each}" for each in picked]
    queries += [f"{picks}={each}" for each in picked[:1]]
    for query in queries:
        yield Ask(REST, "GET", path, "aggregated", given, query)
