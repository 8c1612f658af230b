"""Task managers and the job manager."""

from __future__ import annotations

import platform
import sys
from typing import TypedDict

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.threads import ThreadDocument
from millrace.cluster.rest.answers.flame_graphs import ThreadDumpInfo, thread_dump
from millrace.cluster.rest.answers.managers import (
    TaskManagerDetailsInfo,
    TaskManagersInfo,
    task_manager_details,
    task_managers,
)
from millrace.cluster.rest.answers.overview import ConfigurationInfoEntry, configuration
from millrace.cluster.rest.answers.states import ENDED
from millrace.cluster.rest.web.call import Call
from millrace.cluster.rest.web.errors import NO_TASK_MANAGER, broken, missing
from millrace.cluster.rest.web.operation import Operation


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
    """That of the cluster, also for unknown jobs; of an archived job, what was archived with it."""
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
