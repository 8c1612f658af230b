"""The SQL gateway of a cluster: a process that the cluster's server forwards requests to while there are sessions."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from millrace.cli.cluster.gateway import ending_quietly, make_gateway
from millrace.cli.cluster.submitted import OF_THE_CLUSTER
from millrace.cli.program import RunSettings
from millrace.cli.program_jobs import hooks
from millrace.cluster import job_folder, rpc
from millrace.cluster.client import Cluster
from millrace.cluster.durable_files import encode, write_file
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.gateway.session import Home
from millrace.cluster.rest.serving import make_server
from millrace.cluster.rest.settings import RestSettings
from millrace.cluster.run_folder import GATEWAY_FILE, GatewayDescription, describe_server, read_token, this_process
from millrace.datastream.dependencies import FILES, import_path

if TYPE_CHECKING:
    import uvicorn

    from millrace.cluster.gateway.gateway import Gateway


IDLE_SECONDS = 60.0
"""How long the gateway stays without a session."""


def run_gateway(folder: str) -> int:
    """Run the SQL gateway of a cluster until it is idle or SIGTERM arrives; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    own = {key: value for key, value in configuration.items() if not key.startswith(OF_THE_CLUSTER)}
    files = [each for each in own.get(FILES, "").split(",") if each]
    sys.path[:0] = [import_path(os.path.abspath(each)) for each in files]
    gateway = make_gateway(own, Home(lambda _: _this_cluster(folder)))
    server = make_server(make_gateway_app(gateway, RestSettings()))  # the cluster's server has authorized the request
    described = os.path.join(folder, GATEWAY_FILE)
    listening = rpc.listen(rpc.socket_path(folder, rpc.GATEWAY))
    write_file(described, encode(GatewayDescription(this_process())))
    threading.Thread(target=_end_when_idle, args=(gateway, server), name="millrace-gateway-end", daemon=True).start()
    with hooks(RunSettings(own, ()), gateway.submit, gateway.listener, pyflink=True):
        try:
            with ending_quietly():
                server.run(sockets=[listening])
        finally:
            gateway.stop()
            with suppress(FileNotFoundError):
                os.unlink(described)
    return 0


def _this_cluster(folder: str) -> Cluster:
    server = describe_server(folder)
    return Cluster(folder, "" if server is None else server.url, read_token(folder))


def _end_when_idle(gateway: Gateway, server: uvicorn.Server) -> None:
    while not gateway.is_idle(IDLE_SECONDS) or not gateway.retire():
        threading.Event().wait(1.0)
    server.should_exit = True
