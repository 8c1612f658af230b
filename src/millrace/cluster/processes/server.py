"""The server of a cluster: its REST API and pages. It holds nothing that is not in the cluster's folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.holding.cluster_holder import ClusterHolder
from millrace.cluster.holding.program_store import ClusterPrograms
from millrace.cluster.places import job_folder
from millrace.cluster.places.descriptions import CANNOT_LISTEN, SERVER_FILE, ServerDescription
from millrace.cluster.places.durable import write_file
from millrace.cluster.places.run_folder import read_token, this_process
from millrace.cluster.processes.address import NoPortError, is_loopback, listen

if TYPE_CHECKING:
    from millrace.cluster.documents.job import JobDocument
    from millrace.cluster.holder import Launch

AUTHENTICATION, SUBMIT, CANCEL = "security.rest.auth", "web.submit.enable", "web.cancel.enable"

PlanOf = Callable[["Launch", str], "JobDocument"]
"""The job that an uploaded program would start, with the program's path."""


def run_server(folder: str, plan_of: PlanOf) -> int:
    """Be the server of a cluster until SIGTERM comes; the exit code."""
    import uvicorn

    from millrace.cluster.rest.app import make_app

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    try:
        listening = listen(_at_the_same_port(folder, configuration))
        settings = rest_settings(configuration, read_token(folder), listening.beyond_loopback)
    except NoPortError as error:
        print(error, file=sys.stderr, flush=True)
        return CANNOT_LISTEN
    programs = None
    if configuration.get(SUBMIT, "true").lower() != "false":
        programs = ClusterPrograms(folder, plan_of)
    app = make_app(ClusterHolder(folder, configuration), programs, settings)
    write_file(os.path.join(folder, SERVER_FILE), encode(ServerDescription(this_process(), listening.url)))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off"))
    server.run(sockets=[listening.socket])
    return 0


def _at_the_same_port(folder: str, configuration: Mapping[str, str]) -> Mapping[str, str]:
    """A server that is started again listens where the one before did, so that links and scripts go on working."""
    if configuration.get("rest.port"):
        return configuration
    try:
        with open(os.path.join(folder, SERVER_FILE), "rb") as file:
            before = decode(file.read(), ServerDescription)
        listen({**configuration, "rest.port": before.url.rpartition(":")[2]}).socket.close()
    except (OSError, ValueError, NoPortError):
        return configuration
    return {**configuration, "rest.port": before.url.rpartition(":")[2]}


def rest_settings(configuration: Mapping[str, str], token: str, beyond_loopback: bool) -> Any:
    """Settings of the REST API.

    :raises NoPortError: it would be open to others without a token.
    """
    from millrace.cluster.rest.web.settings import RestSettings

    open_to_all = configuration.get(AUTHENTICATION, "token").lower() == "none"
    bind = configuration.get("rest.bind-address") or "127.0.0.1"
    if open_to_all and not is_loopback(bind):
        raise NoPortError(f"{AUTHENTICATION}: none is for the loopback only, not for {bind}: others could run programs")
    hosts = frozenset(filter(None, (each.strip() for each in configuration.get("rest.allowed-hosts", "").split(","))))
    return RestSettings(
        token=None if open_to_all else token,
        hosts=hosts | frozenset(filter(None, [configuration.get("rest.address")])),
        beyond_loopback=beyond_loopback,
        protect_reads=beyond_loopback,
        cancel=configuration.get(CANCEL, "true").lower() != "false",
    )
