"""A SQL gateway in the process of its command, with the limits that options set."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from millrace.cli.program import RunSettings
from millrace.cli.program_jobs import hooks
from millrace.cluster import run_folder
from millrace.cluster.client import NoClusterError
from millrace.cluster.gateway.routes import make_gateway_app
from millrace.cluster.gateway.session import Home
from millrace.cluster.gateway.sql_session import nearest
from millrace.cluster.rest.serving import RestServer
from millrace.cluster.rest.settings import asks_for_token, binding, rest_settings

if TYPE_CHECKING:
    from millrace.cluster.gateway.gateway import Gateway


_OWN = ("sql-gateway.", "security.", "rest.")
_OF_SESSIONS = ("rest.address", "rest.port")
"""where the cluster is that takes their jobs"""


@contextlib.contextmanager
def ending_quietly() -> Iterator[None]:
    """A server sends itself the signal that ended it once more when it has ended: that is to end nothing else."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_gateway(configuration: Mapping[str, str], home: Home | None = None) -> Gateway:
    """:raises ValueError: an option that can't have its value."""
    from millrace.cluster.gateway.gateway import IDLE_SECONDS, LOOK_SECONDS, MOST_SESSIONS, Gateway
    from millrace.common.config_values import to_duration

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
    """Be a gateway until a signal ends it.

    :param folder: where others find it, made by who has started it in the background; None: it makes one.
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
        gateway = make_gateway(settings.configuration, Home(nearest))
        server = RestServer(make_gateway_app(gateway, rest_settings(options, token, where)), where)
        entry = run_folder.Entry(
            run_folder.GATEWAY,
            run_folder.this_process(),
            server.address,
            began=time.time_ns() // 1_000_000,
            background=background,
        )
        with hooks(settings, gateway.submit, gateway.listener, pyflink=True):
            # Who reads the log of one in the background finds no token there.
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
    """The options of the REST server, from those of the gateway. ``rest.address`` and its like are the cluster's."""
    own = {key: value for key, value in configuration.items() if not key.startswith("rest.")}
    own["rest.bind-port"] = configuration.get(f"{ENDPOINT}port", _PORT)
    for key in ("bind-port", "bind-address", "address"):
        if f"{ENDPOINT}{key}" in configuration:
            own[f"rest.{key}"] = configuration[f"{ENDPOINT}{key}"]
    return own
