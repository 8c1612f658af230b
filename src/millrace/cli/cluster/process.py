"""The processes of a cluster as commands: ``python -m millrace.cli.cluster.process ROLE FOLDER``."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence

from millrace.cli.cluster.roles import BEGAN, command
from millrace.cluster.places import job_folder
from millrace.cluster.places.descriptions import describe_engine, describe_gateway, describe_server
from millrace.cluster.places.run_folder import CLUSTER, SESSION, Entry, Process, register, this_process, withdraw
from millrace.cluster.places.session_facts import read_facts
from millrace.cluster.processes import forwarding, sparks_own
from millrace.cluster.processes.engine import run_engine
from millrace.cluster.processes.remote_service import RemoteService
from millrace.cluster.processes.service import Service, ServiceOnDemand
from millrace.util.modules import import_modules

PREPARED = (
    "pandas",
    "pyspark.sql.classic.dataframe",
    "millrace.cli.cluster.submitted",
    "millrace.cli.hooks",
    "millrace.cli.live",
    "millrace.cli.savepoint_signal",
    "millrace.cluster.processes.supervisor",
    "millrace.datastream.functions",
    "millrace.datastream.stream_execution_environment",
    "millrace.spark.jobs.submit",
    "millrace.spark.sharing.gateways",
    "millrace.spark.tables.engine",
    "millrace.table.environment",
    "millrace.table.planner.engine",
)
"""What the supervisor has imported, so that the process of a program need not."""
PREPARED_WHOLE = ("millrace.relational.functions", "millrace.table.planner.nodes")
"""Packages whose modules are all imported by the first query."""


def _supervise(folder: str) -> int:
    configuration = job_folder.read_configuration(folder)
    register(folder, Entry(CLUSTER, this_process(), began=int(configuration.get(BEGAN, "0"))))
    services = [
        *sparks_own.services(folder, configuration),
        _service("engine", folder, describe_engine),
        _service("server", folder, describe_server),
        _service(forwarding.GATEWAY, folder, describe_gateway, ServiceOnDemand),
    ]
    for service in services:
        service.look(0.0)  # they start while this process imports
    _watch(folder, services)
    withdraw(folder)
    return 0


def _keep_session(folder: str) -> int:
    """A cluster without a server, which ends when it is idle; nothing of it stays."""
    facts = read_facts(folder)
    register(folder, Entry(SESSION, this_process(), began=facts.began))
    engine = _service("engine", folder, describe_engine)
    engine.look(0.0)
    _watch(folder, [engine], facts.idle_seconds)
    withdraw(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _watch(folder: str, services: Sequence[Service | RemoteService], idle_seconds: float | None = None) -> None:
    """Be the supervisor until the cluster is to end."""
    for name in PREPARED:
        importlib.import_module(name)
    for name in PREPARED_WHOLE:
        import_modules(importlib.import_module(name))
    from millrace.cli.cluster.submitted import run_submitted
    from millrace.cluster.processes.supervisor import Supervisor

    Supervisor(folder, services, run_submitted, idle_seconds).run()


def _service(
    role: str, folder: str, describe: Callable[[str], object], kind: type[Service] = Service
) -> Service:
    def find() -> Process | None:
        return getattr(describe(folder), "process", None)

    log = os.path.join(folder, job_folder.LOGS, f"{role}.log")
    return kind(role, command(role, folder), log, find)


def _serve(folder: str) -> int:
    from millrace.cli.cluster.plans import plan_of
    from millrace.cluster.processes.server import run_server

    return run_server(folder, plan_of)


def _gateway(folder: str) -> int:
    from millrace.cli.gateway.beside import run_gateway

    return run_gateway(folder)


ROLES: dict[str, Callable[[str], int]] = {
    "supervisor": _supervise,
    "session": _keep_session,
    "engine": run_engine,
    "server": _serve,
    forwarding.GATEWAY: _gateway,
}


if __name__ == "__main__":
    sys.exit(ROLES[sys.argv[1]](sys.argv[2]))
