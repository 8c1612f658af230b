"""The server of a cluster: its REST API and pages. It holds nothing that is not in the cluster's folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from millrace.cluster.documents.codec import decode
from millrace.cluster.holding.cluster_holder import ClusterHolder
from millrace.cluster.holding.keeping import Keeper
from millrace.cluster.holding.program_store import UPLOAD_DIRECTORY, ClusterPrograms
from millrace.cluster.places import job_folder
from millrace.cluster.places.descriptions import CANNOT_LISTEN, SERVER_FILE, ServerDescription, become
from millrace.cluster.places.retention import ARCHIVE_DIRECTORY
from millrace.cluster.places.run_folder import read_token, this_process
from millrace.cluster.processes.forwarding import SQL, SqlForwarding
from millrace.cluster.rest.options import Binding, binding, rest_settings
from millrace.cluster.rest.serving import NoPortError, RestServer
from millrace.configuration.log_limits import log_limits
from millrace.util.log_rotation import keep_own_short

if TYPE_CHECKING:
    from millrace.cluster.documents.job import JobDocument
    from millrace.cluster.holder import Launch

SUBMIT = "web.submit.enable"

PlanOf = Callable[["Launch", str], "JobDocument"]
"""The job that an uploaded program would start, with the program's path."""


def run_server(folder: str, plan_of: PlanOf) -> int:
    """Be the server of a cluster until SIGTERM comes; the exit code."""
    from millrace.cluster.rest.app import make_app

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    try:
        keep_own_short([os.path.join(folder, job_folder.LOGS, "server.log")], log_limits(configuration))
        where = _where_it_was(folder, binding(configuration))
        settings = rest_settings(configuration, read_token(folder), where)
        programs, sql = None, None
        if configuration.get(SUBMIT, "true").lower() != "false":
            programs = ClusterPrograms(folder, plan_of, configuration.get(UPLOAD_DIRECTORY))
            settings = replace(settings, sql=SQL)
            sql = SqlForwarding(folder, settings).answer
        server = RestServer(make_app(ClusterHolder(folder, configuration), programs, settings, sql), where)
    except (NoPortError, ValueError) as error:
        print(error, file=sys.stderr, flush=True)
        return CANNOT_LISTEN
    if become(folder, SERVER_FILE, ServerDescription(this_process(), server.address)):
        directory = configuration.get(ARCHIVE_DIRECTORY)
        if directory:
            Keeper(folder, directory).start()
        server.run()
    return 0


def _where_it_was(folder: str, where: Binding) -> Binding:
    """A server that is started again listens where the one before did, so that links and scripts go on working."""
    try:
        with open(os.path.join(folder, SERVER_FILE), "rb") as file:
            before = int(decode(file.read(), ServerDescription).url.rpartition(":")[2])
    except (OSError, ValueError):
        return where
    return replace(where, ports=[before, *where.ports]) if before in where.ports else where
