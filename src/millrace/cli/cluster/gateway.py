"""SQL gateways as processes: one in the process of its command, with limits from options; and the gateway of a cluster,
a process that the cluster's server forwards requests to while there are sessions.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from millrace.cli.cluster.submitted import OF_THE_CLUSTER
from millrace.cli.program import RunSettings
from millrace.cli.program_jobs import hooks
from millrace.cluster import job_folder, rpc, run_folder
from millrace.cluster.client import Cluster, NoClusterError
from millrace.cluster.durable_files import encode, write_file
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.gateway.session import SessionCluster
from millrace.cluster.gateway.sql_session import nearest
from millrace.cluster.rest.serving import RestServer, make_server
from millrace.cluster.rest.settings import RestSettings, asks_for_token, binding, rest_settings
from millrace.cluster.run_folder import GATEWAY_FILE, GatewayDescription, describe_server, read_token, this_process
from millrace.datastream.job_settings import FILES, import_path

if TYPE_CHECKING:
    import uvicorn

    from millrace.cluster.gateway.gateway import Gateway


# A gateway of its own

_OWN = ("sql-gateway.", "security.", "rest.")
_OF_SESSIONS = ("rest.address", "rest.port")
"""options with the address of the cluster that takes the sessions' jobs"""


@contextlib.contextmanager
def ending_quietly() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM inside: after its shutdown a uvicorn server raises the signal that ended it again."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_gateway(configuration: Mapping[str, str], home: SessionCluster | None = None) -> Gateway:
    """:raises ValueError: an option that can't have its value."""
    from millrace.cluster.gateway.gateway import IDLE_SECONDS, LOOK_SECONDS, MOST_SESSIONS, Gateway
    from millrace.common.configuration import to_duration

    def seconds(key: str, default: float) -> float:
        text = configuration.get(key)
        return default if text is None else to_duration(text).to_millis() / 1000

    most = configuration.get("sql-gateway.session.max-num", str(MOST_SESSIONS)).strip()
    if not most.isdecimal():
        raise ValueError(f"sql-gateway.session.max-num is a whole number, not {most!r}")
    return Gateway(
        {key: value for key, value in configuration.items() if key in _OF_SESSIONS or not key.startswith(_OWN)},
        seconds("sql-gateway.session.idle-timeout", IDLE_SECONDS),
        int(most),
        seconds("sql-gateway.session.check-interval", LOOK_SECONDS),
        home,
    )


ENDPOINT = "sql-gateway.endpoint.rest."
_PORT = "8083"


def serve(settings: RunSettings, folder: str | None) -> None:
    """Run a gateway until a signal ends it.

    :param folder: run folder of the gateway, made by the command that started it in the background; None: it makes one.
    """
    # Functions that CREATE FUNCTION names are found where the gateway was started, and with -pyfs.
    sys.path[:0] = [os.getcwd(), *settings.paths]
    options = rest_options(settings.configuration)
    where = binding(options)
    protected = asks_for_token(options)
    background = folder is not None
    folder = folder or run_folder.new_folder(f"sql-gateway-{os.getpid()}-{time.time_ns():x}")
    try:
        if options.get("security.rest.token"):
            run_folder.keep_token(folder, options["security.rest.token"])
        token = run_folder.read_token(folder) if protected else None
        gateway = make_gateway(settings.configuration, SessionCluster(nearest))
        server = RestServer(make_gateway_app(gateway, rest_settings(options, token, where)), where)
        entry = run_folder.Entry(
            run_folder.GATEWAY,
            run_folder.this_process(),
            server.address,
            began=time.time_ns() // 1_000_000,
            background=background,
        )
        with hooks(settings, gateway.submit, gateway.listener, pyflink=True):
            # The log of a gateway in the background contains no token.
            shown = "" if token is None or background else f", token {token}"
            click.echo(f"The SQL gateway listens at {server.address}{shown}")
            click.echo(_where_jobs_run(settings.configuration))
            sys.stdout.flush()
            run_folder.register(folder, entry)
            try:
                with ending_quietly():
                    server.run()
            finally:
                gateway.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _where_jobs_run(configuration: Mapping[str, str]) -> str:
    try:
        cluster = nearest(configuration)
    except NoClusterError as error:
        return f"INSERTs find no cluster yet: {error}"
    if cluster is None:
        return "INSERTs run in this process and end with it, unless a cluster is started"
    return f"INSERTs become jobs of the cluster at {cluster.url}"


def rest_options(configuration: Mapping[str, str]) -> dict[str, str]:
    """The REST server's options, taken from the gateway's; ``rest.address`` and the like are the cluster's."""
    own = {key: value for key, value in configuration.items() if not key.startswith("rest.")}
    own["rest.bind-port"] = configuration.get(f"{ENDPOINT}port", _PORT)
    for key in ("bind-port", "bind-address", "address"):
        if f"{ENDPOINT}{key}" in configuration:
            own[f"rest.{key}"] = configuration[f"{ENDPOINT}{key}"]
    return own


# The gateway of a cluster

IDLE_SECONDS = 60.0
"""How long the gateway stays without a session."""


def run_gateway(folder: str) -> int:
    """Run the SQL gateway of a cluster until it is idle or SIGTERM arrives; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    own = {key: value for key, value in configuration.items() if not key.startswith(OF_THE_CLUSTER)}
    files = [each for each in own.get(FILES, "").split(",") if each]
    sys.path[:0] = [import_path(os.path.abspath(each)) for each in files]
    gateway = make_gateway(own, SessionCluster(lambda _: _this_cluster(folder)))
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
