"""The processes of a cluster as commands: ``python -m millrace.cli.cluster.process ROLE FOLDER``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable

from millrace.cli.cluster.roles import BEGAN, command
from millrace.cluster.places import job_folder
from millrace.cluster.places.descriptions import describe_engine, describe_gateway, describe_server
from millrace.cluster.places.run_folder import CLUSTER, Entry, Process, register, this_process, withdraw
from millrace.cluster.processes import forwarding, sparks_own
from millrace.cluster.processes.engine import run_engine
from millrace.cluster.processes.service import Service, ServiceOnDemand

PREPARED = (
    "pandas",
    "pyspark.sql",
    "millrace.cli.cluster.submitted",
    "millrace.cli.hooks",
    "millrace.cli.live",
    "millrace.cli.savepoint_signal",
    "millrace.cluster.processes.supervisor",
    "millrace.datastream",
    "millrace.datastream.functions",
    "millrace.spark.jobs.submit",
    "millrace.spark.sharing.gateways",
    "millrace.spark.tables.engine",
    "millrace.table",
)
"""What the supervisor has imported, so that the process of a program need not."""


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
    for name in PREPARED:
        importlib.import_module(name)
    from millrace.cli.cluster.submitted import run_submitted
    from millrace.cluster.processes.supervisor import Supervisor

    Supervisor(folder, services, run_submitted).run()
    withdraw(folder)
    return 0


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
    "engine": run_engine,
    "server": _serve,
    forwarding.GATEWAY: _gateway,
}


if __name__ == "__main__":
    sys.exit(ROLES[sys.argv[1]](sys.argv[2]))
