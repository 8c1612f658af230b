"""Starting, finding and ending a cluster on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.cli.cluster.preparing import Wanted
from millrace.cli.cluster.roles import BEGAN, command
from millrace.cluster.places import attempts, job_folder, run_folder, sockets
from millrace.cluster.places.descriptions import CANNOT_LISTEN, describe_engine, describe_server
from millrace.cluster.places.job_folder import tail
from millrace.cluster.places.log_folder import place_logs
from millrace.cluster.places.run_folder import Found, Process
from millrace.cluster.places.session_facts import facts_of, write_facts
from millrace.cluster.processes.sparks_own import anything_left, end_left
from millrace.cluster.standalone.layout import (
    STATE,
    Layout,
    forget_layout,
    plan,
    read_layout,
    state_folder,
    write_layout,
)
from millrace.cluster.wire.asking import NotThereError, ask
from millrace.configuration.log_limits import DIRECTORY, log_limits

START_SECONDS = 180.0
SPARK_SECONDS = 120.0
"""more, if Spark's master and workers have to come first"""
STOP_SECONDS = 120.0
CANCEL_SECONDS = 30.0
"""How long programs may take to cancel their jobs when nobody watches them."""
LOOK_SECONDS = 0.1
DEFAULT_NAME = "cluster"


class ClusterError(Exception):
    """What was asked for is not possible; the text says why."""


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
    """Start a cluster, or what is missing of it.

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
    """Start the process that all others of a cluster are children of."""
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
    """Spark's own master and workers, if there are to be any; those that a supervisor has left behind go on."""
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
    """Wait until all its processes are ready."""
    until = time.monotonic() + seconds
    told = False
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
        if server is not None and not told:
            say("waiting for Spark")
            told = True
        time.sleep(LOOK_SECONDS)
    missing = [
        what
        for what, found in (("server", describe_server(folder)), ("engine (Spark)", describe_engine(folder)))
        if found is None
    ]
    raise ClusterError(f"not ready after {seconds:g} s: {', '.join(missing) or 'supervisor'}; see {logs}")


def _answers(folder: str) -> bool:
    try:
        ask(sockets.socket_path(folder, sockets.SUPERVISOR), "the supervisor", "status")
    except NotThereError:
        return False
    return True


def stop(found: Found) -> None:
    """End a cluster with its programs.

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
    """Cancel the programs of a cluster whose supervisor was killed, and end its engine, server and Spark; what ended.

    The next supervisor records what has become of the programs.
    """
    programs = [process for process in _programs(folder) if _terminate(process)]
    until = time.monotonic() + CANCEL_SECONDS
    while any(process.is_alive for process in programs) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    ended = [f"{len(programs)} program{'s' * (len(programs) != 1)}"] if programs else []
    ended += [name for name, process in processes(folder).items() if process is not None and _terminate(process)]
    return ended + end_left(folder)


def _programs(folder: str) -> list[Process]:
    """The processes of the programs of a cluster that began last."""
    found = []
    if os.path.isdir(os.path.join(folder, job_folder.JOBS)):
        for name in job_folder.names(folder, job_folder.JOBS):
            found += attempts.attempts(os.path.join(folder, job_folder.JOBS, name))[-1:]
    return found


def _terminate(process: Process) -> bool:
    """Whether it was there."""
    if not process.is_alive:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    return True


def processes(folder: str) -> dict[str, Process | None]:
    """Server and engine of a cluster; None: it is not there."""
    found: dict[str, Any] = {"server": describe_server(folder), "engine": describe_engine(folder)}
    return {name: None if each is None else each.process for name, each in found.items()}
