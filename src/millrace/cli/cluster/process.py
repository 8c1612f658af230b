"""The processes of a cluster as commands: ``python -m millrace.cli.cluster.process ROLE FOLDER``.

The server finds the plan of an uploaded program with ``millrace info`` in a process of its own.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from millrace.cli.cluster.lifecycle import BEGAN, command
from millrace.cluster import job_folder
from millrace.cluster.control import LaunchError
from millrace.cluster.job_folder import read_facts
from millrace.cluster.processes import sql_forwarding
from millrace.cluster.processes.engine import run_engine
from millrace.cluster.processes.services import RemoteService, Service, ServiceOnDemand, spark_services
from millrace.cluster.run_folder import (
    CLUSTER,
    SESSION,
    Entry,
    Process,
    describe_engine,
    describe_gateway,
    describe_server,
    register,
    this_process,
    withdraw,
)
from millrace.util.names import import_modules

if TYPE_CHECKING:
    from millrace.cluster.control import Launch
    from millrace.cluster.documents import JobDocument


PLAN_SECONDS = 120.0


def plan_of(launch: Launch, path: str) -> JobDocument:
    """The job that the program would start.

    :raises LaunchError: it would start none.
    """
    from millrace.cluster.documents import JobDocument
    from millrace.cluster.durable_files import decode

    words = [sys.executable, "-m", "millrace", "info", "--document", "--pyflink"]
    if launch.parallelism is not None:
        words += ["-p", str(launch.parallelism)]
    for key, value in launch.configuration.items():
        words += ["-D", f"{key}={value}"]
    words += ["-py", path] if path.endswith(".py") else ["-pyfs", path, "-pym", launch.entry or "main"]
    try:
        done = subprocess.run([*words, "--", *launch.arguments], capture_output=True, timeout=PLAN_SECONDS)
    except subprocess.TimeoutExpired:
        raise LaunchError(f"the program has not executed a job for {PLAN_SECONDS:g} s") from None
    if done.returncode:
        raise LaunchError(done.stderr.decode(errors="replace").strip())
    return decode(done.stdout, JobDocument)


PREPARED = (
    "pandas",
    "pyspark.sql.classic.dataframe",
    "millrace.cli.cluster.submitted",
    "millrace.cli.program_jobs",
    "millrace.cli.live",
    "millrace.cli.program_jobs",
    "millrace.cluster.processes.supervisor",
    "millrace.datastream.functions",
    "millrace.datastream.stream_execution_environment",
    "millrace.spark.jobs.submit",
    "millrace.spark.jobs.gateways",
    "millrace.spark.tables.engine",
    "millrace.table.environment",
    "millrace.table.planner.engine",
)
"""Modules that the supervisor imports, so that the forked process of a program need not."""
PREPARED_WHOLE = ("millrace.relational.functions", "millrace.table.planner.nodes")
"""Packages whose modules are all imported by the first query."""


def _supervise(folder: str) -> int:
    configuration = job_folder.read_configuration(folder)
    register(folder, Entry(CLUSTER, this_process(), began=int(configuration.get(BEGAN, "0"))))
    services = [
        *spark_services(folder, configuration),
        _service("engine", folder, describe_engine),
        _service("server", folder, describe_server),
        _service(sql_forwarding.GATEWAY, folder, describe_gateway, ServiceOnDemand),
    ]
    for service in services:
        service.look(0.0)  # they start while this process imports
    _watch(folder, services)
    withdraw(folder)
    return 0


def _keep_session(folder: str) -> int:
    """Keep a session: a cluster without a server, which ends when it is idle and removes its folder."""
    facts = read_facts(folder)
    register(folder, Entry(SESSION, this_process(), began=facts.began))
    engine = _service("engine", folder, describe_engine)
    engine.look(0.0)
    _watch(folder, [engine], facts.idle_seconds)
    withdraw(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _watch(folder: str, services: Sequence[Service | RemoteService], idle_seconds: float | None = None) -> None:
    """Run the supervisor until the cluster is stopped."""
    for name in PREPARED:
        importlib.import_module(name)
    for name in PREPARED_WHOLE:
        import_modules(importlib.import_module(name))
    from millrace.cli.cluster.submitted import run_submitted
    from millrace.cluster.processes.supervisor import Supervisor

    Supervisor(folder, services, run_submitted, idle_seconds).run()


def _service(role: str, folder: str, describe: Callable[[str], object], kind: type[Service] = Service) -> Service:
    def find() -> Process | None:
        return getattr(describe(folder), "process", None)

    log = os.path.join(folder, job_folder.LOGS, f"{role}.log")
    return kind(role, command(role, folder), log, find)


def _serve(folder: str) -> int:
    from millrace.cluster.processes.server import run_server

    return run_server(folder, plan_of)


def _gateway(folder: str) -> int:
    from millrace.cli.cluster.gateway import run_gateway

    return run_gateway(folder)


ROLES: dict[str, Callable[[str], int]] = {
    "supervisor": _supervise,
    "session": _keep_session,
    "engine": run_engine,
    "server": _serve,
    sql_forwarding.GATEWAY: _gateway,
}


if __name__ == "__main__":
    sys.exit(ROLES[sys.argv[1]](sys.argv[2]))
