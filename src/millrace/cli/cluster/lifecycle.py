"""Starts, finds and stops clusters on this machine: the configuration, the processes, and the Spark below them.

A cluster is configured by files and by the command line; the latter overrides.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millrace.cluster import job_folder, rpc, run_folder, submissions
from millrace.cluster.job_folder import facts_of, place_logs, tail, write_facts
from millrace.cluster.processes.services import anything_left, end_left
from millrace.cluster.processes.spark_layout import (
    STATE,
    Layout,
    forget_layout,
    plan,
    read_layout,
    state_folder,
    write_layout,
)
from millrace.cluster.rpc import NotThereError, ask
from millrace.cluster.run_folder import CANNOT_LISTEN, Process, RunEntry, describe_engine, describe_server
from millrace.configuration.files import DIRECTORY, log_limits

if TYPE_CHECKING:
    from millrace.cluster.processes.spark_layout import Hosts


BEGAN = "millrace.cluster.began"
"""Key of a cluster's configuration: its start time (ms since the epoch)."""


def command(role: str, folder: str) -> list[str]:
    """The command line of a cluster's process."""
    return [sys.executable, "-m", "millrace.cli.cluster.process", role, folder]


MASTER, SPARK_MASTER = "millrace.master", "spark.master"
PORT, BIND_PORT = "rest.port", "rest.bind-port"


@dataclass(frozen=True)
class Wanted:
    """The configuration and machines that the user asks for."""

    configuration: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the part of the configuration that only configuration files set"""
    hosts: Hosts | None = None
    """machines for a Spark of the cluster's own"""


def wanted(properties: Mapping[str, str], master: str | None, workers: int | None) -> Wanted:
    """Combine options and configuration files; options override files.

    :raises ValueError: a setting that is wrong, or one that another rules out.
    """
    from millrace.cluster.processes.spark_layout import find_hosts
    from millrace.configuration.files import configuration_directory, file_settings
    from millrace.configuration.registry import tell_about, with_new_names

    tell_about(dict(properties))
    given = with_new_names(properties)
    files = file_settings()
    said = master or given.get(MASTER) or given.get(SPARK_MASTER)
    if said is not None and workers is not None:
        raise ValueError(f"the cluster is to run on {said}: that has workers of its own (leave --workers out)")
    named = said or (None if workers is not None else files.get(MASTER) or files.get(SPARK_MASTER))
    configuration: dict[str, str] = {**files, **given}
    for key in (MASTER, SPARK_MASTER):
        configuration.pop(key, None)
    directory, sure = configuration_directory()
    hosts = None
    if named is None:
        hosts = find_hosts(directory if sure or files else None, workers)
    else:
        configuration[MASTER] = named
    if hosts is not None and hosts.master.host.here and hosts.master.port is not None and PORT not in given:
        # As Flink's script hands it to its job manager.
        binds = configuration.get(BIND_PORT)
        configuration |= {PORT: str(hosts.master.port), BIND_PORT: str(hosts.master.port)}
        if binds is not None and binds != files.get(PORT):
            configuration[BIND_PORT] = binds  # that was said by itself
    return Wanted(configuration, {key: value for key, value in files.items() if key not in given}, hosts)


START_SECONDS = 180.0
SPARK_SECONDS = 120.0
"""additional time if Spark's master and workers must start first"""
STOP_SECONDS = 120.0
CANCEL_SECONDS = 30.0
"""How long programs may take to cancel their jobs in a cluster without a supervisor."""
LOOK_SECONDS = 0.1
DEFAULT_NAME = "cluster"


class ClusterError(Exception):
    """The cluster can't be started or stopped; the text says why."""


@dataclass(frozen=True)
class Running:
    """A cluster that is ready."""

    folder: str
    url: str
    token: str


def start_session(name: str, wanted: Wanted, idle_seconds: float) -> None:
    """Start a session: a cluster without a server, whose engine is ready when this returns.

    :raises ClusterError: one of that name runs already, or this one does not come up.
    """
    folder = run_folder.new_folder(name)
    if (before := run_folder.read_entry(folder)) is not None:
        raise ClusterError(f"the {before.entry.kind} {name!r} runs already: process {before.entry.process.pid}")
    log_limits(wanted.configuration)
    place_logs(folder, wanted.configuration.get(DIRECTORY))
    job_folder.make_folders(folder)
    began = time.time_ns() // 1_000_000
    job_folder.write_configuration(folder, {**wanted.configuration, BEGAN: str(began)}, wanted.files)
    write_facts(folder, facts_of(wanted.configuration, idle_seconds, began))
    process = _begin("session", folder)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if describe_engine(folder) is not None and _answers(folder):
            return
        if process.poll() is not None:
            text = tail(os.path.join(folder, job_folder.LOGS, "supervisor.log"))
            raise ClusterError(f"the session has ended with exit code {process.returncode}:\n{text}")
        time.sleep(LOOK_SECONDS)
    process.terminate()
    raise ClusterError(f"Spark is not ready after {START_SECONDS:g} s; see {os.path.join(folder, job_folder.LOGS)}")


def start(name: str, wanted: Wanted, say: Callable[[str], None]) -> Running:
    """Start a cluster, or the missing processes of a cluster that lives in part.

    :raises ClusterError: one of that name runs already, or this one does not come up.
    """
    folder = run_folder.new_folder(name)
    before = run_folder.read_entry(folder)
    if before is not None:
        url = getattr(describe_server(folder), "url", "its server is just being started")
        raise ClusterError(f"the cluster {name!r} runs already: {url}")
    log_limits(wanted.configuration)  # what is wrong about it is said before anything starts
    layout = _layout(folder, wanted)
    place_logs(folder, wanted.configuration.get(DIRECTORY))
    job_folder.make_folders(folder)
    began = {BEGAN: str(time.time_ns() // 1_000_000)}
    state = {} if layout is None or layout.away else {STATE: state_folder(folder)}
    job_folder.write_configuration(folder, {**state, **wanted.configuration, **began}, wanted.files)
    if layout is None:
        forget_layout(folder)
    else:
        write_layout(folder, layout)
    process = _begin("supervisor", folder)
    return _ready(folder, process, START_SECONDS + (0.0 if layout is None else SPARK_SECONDS), say)


def _begin(role: str, folder: str) -> subprocess.Popen[bytes]:
    """Start the supervisor, the parent of all processes of a cluster."""
    with open(os.path.join(folder, job_folder.LOGS, "supervisor.log"), "ab") as file:
        return subprocess.Popen(
            command(role, folder),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            cwd="/",
        )


def _layout(folder: str, wanted: Wanted) -> Layout | None:
    """Lay out Spark's master and workers, if the cluster has its own; those that an earlier supervisor left running
    stay."""
    before = read_layout(folder) if anything_left(folder) else None
    layout = None if wanted.hosts is None else plan(wanted.hosts, wanted.configuration)
    if before is None:
        return layout
    if layout is None or (layout.master, layout.workers) != (before.master, before.workers):
        raise ClusterError(
            "of the cluster that ran before, Spark's master and workers are left, and other ones are asked for: "
            "`millrace cluster stop` ends them"
        )
    return before


def _ready(folder: str, process: subprocess.Popen[bytes], seconds: float, say: Callable[[str], None]) -> Running:
    """Wait until all processes of the cluster are ready."""
    until = time.monotonic() + seconds
    announced = False
    logs = os.path.join(folder, job_folder.LOGS)
    while time.monotonic() < until:
        server, engine = describe_server(folder), describe_engine(folder)
        if server is not None and engine is not None and _answers(folder):
            return Running(folder, server.url, run_folder.read_token(folder))
        if process.poll() is not None:
            text = tail(os.path.join(logs, "supervisor.log"))
            raise ClusterError(f"the supervisor has ended with exit code {process.returncode}:\n{text}")
        refused = f"server has ended with exit code {CANNOT_LISTEN}"
        if server is None and refused in tail(os.path.join(logs, "supervisor.log")):
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)
            raise ClusterError(tail(os.path.join(logs, "server.log"), 1))
        if server is not None and not announced:
            say("waiting for Spark")
            announced = True
        time.sleep(LOOK_SECONDS)
    missing = [
        what
        for what, found in (("server", describe_server(folder)), ("engine (Spark)", describe_engine(folder)))
        if found is None
    ]
    raise ClusterError(f"not ready after {seconds:g} s: {', '.join(missing) or 'supervisor'}; see {logs}")


def _answers(folder: str) -> bool:
    try:
        ask(rpc.socket_path(folder, rpc.SUPERVISOR), "the supervisor", "status")
    except NotThereError:
        return False
    return True


def stop(found: RunEntry) -> None:
    """Stop a cluster with its programs.

    :raises ClusterError: it does not end.
    """
    process = found.entry.process
    os.kill(process.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while process.is_alive:
        if time.monotonic() > until:
            raise ClusterError(f"its supervisor (process {process.pid}) has not ended for {STOP_SECONDS:g} s")
        time.sleep(LOOK_SECONDS)


def end_orphans(folder: str) -> list[str]:
    """Cancel the programs of a cluster whose supervisor was killed, and end its engine, server and Spark; returns what
    was ended.

    The next supervisor records the programs' results.
    """
    programs = [process for process in _programs(folder) if _terminate(process)]
    until = time.monotonic() + CANCEL_SECONDS
    while any(process.is_alive for process in programs) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    ended = [f"{len(programs)} program{'s' * (len(programs) != 1)}"] if programs else []
    ended += [name for name, process in processes(folder).items() if process is not None and _terminate(process)]
    return ended + end_left(folder)


def _programs(folder: str) -> list[Process]:
    """The processes that last began to run programs of the cluster."""
    found = []
    if os.path.isdir(os.path.join(folder, job_folder.JOBS)):
        for name in job_folder.names(folder, job_folder.JOBS):
            found += submissions.attempts(os.path.join(folder, job_folder.JOBS, name))[-1:]
    return found


def _terminate(process: Process) -> bool:
    """End a process; returns whether it was alive."""
    if not process.is_alive:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    return True


def processes(folder: str) -> dict[str, Process | None]:
    """Server and engine of a cluster; None: it is not there."""
    found: dict[str, Any] = {"server": describe_server(folder), "engine": describe_engine(folder)}
    return {name: None if each is None else each.process for name, each in found.items()}
