"""``millrace sql-gateway``: sessions and statements over REST."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from millrace.cli.options import ProgramOptions, surroundings_options

if TYPE_CHECKING:
    from millrace.cluster.gateway.gateway import Gateway

EPILOG = """
Flink's clients and drivers of the gateway send no token: for them -D security.rest.auth=none, on loopback only.

Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 it could not begin, 2 wrong options.
"""
_ENDPOINT = "sql-gateway.endpoint.rest."
_PORT = "8083"


@click.command("sql-gateway", epilog=EPILOG)
@click.argument("action", type=click.Choice(["start-foreground"]), default="start-foreground", required=False)
@surroundings_options
def sql_gateway(action: str, program: ProgramOptions) -> None:
    """Serve SQL over REST, as Flink's gateway does: sessions, statements, results in pages.

    Jobs that INSERT has started go on when their session is closed; they end with the gateway.
    """
    from millrace.cluster.rest.options import UnsafeServerError
    from millrace.cluster.rest.serving import NoPortError

    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        try:
            _serve(program, directory)
        except (UnsafeServerError, NoPortError, ValueError) as error:
            raise click.ClickException(str(error)) from None


def _serve(program: ProgramOptions, directory: str) -> None:
    from millrace.cli.hooks import hooks
    from millrace.cli.program import Program
    from millrace.cli.settings import run_settings
    from millrace.cluster.gateway.app import make_gateway_app
    from millrace.cluster.rest.options import binding, rest_settings
    from millrace.cluster.rest.serving import RestServer
    from millrace.cluster.rest.web.tokens import new_token

    settings = run_settings(program, Program("sql-gateway", True, ()), directory)
    # Functions that CREATE FUNCTION names are found where the gateway was started, and with -pyfs.
    sys.path[:0] = [os.getcwd(), *settings.paths]
    options = rest_options(settings.configuration)
    where = binding(options)
    protected = options.get("security.rest.auth", "token").lower() != "none"
    token = (options.get("security.rest.token") or new_token()) if protected else None
    gateway = make_gateway(settings.configuration)
    server = RestServer(make_gateway_app(gateway, rest_settings(options, token, where)), where)
    with hooks(settings, gateway.submit, gateway.listener):
        click.echo(f"The SQL gateway listens at {server.address}" + ("" if token is None else f", token {token}"))
        try:
            server.run()
        finally:
            gateway.stop()


def rest_options(configuration: Mapping[str, str]) -> dict[str, str]:
    """The options of the REST server, from those of the gateway."""
    own = {**configuration, "rest.bind-port": configuration.get(f"{_ENDPOINT}port", _PORT)}
    for key in ("bind-port", "bind-address", "address"):
        if f"{_ENDPOINT}{key}" in configuration:
            own[f"rest.{key}"] = configuration[f"{_ENDPOINT}{key}"]
    return own


def make_gateway(configuration: Mapping[str, str]) -> Gateway:
    """A gateway with the limits that options set."""
    from millrace.cluster.gateway.gateway import IDLE_SECONDS, LOOK_SECONDS, MOST_SESSIONS, Gateway
    from millrace.common.config_values import to_duration

    def seconds(key: str, default: float) -> float:
        text = configuration.get(key)
        return default if text is None else to_duration(text).to_millis() / 1000

    most = configuration.get("sql-gateway.session.max-num", str(MOST_SESSIONS)).strip()
    if not most.isdecimal():
        raise ValueError(f"sql-gateway.session.max-num is a whole number, not {most!r}")
    own = ("rest.", "sql-gateway.", "security.")
    return Gateway(
        {key: value for key, value in configuration.items() if not key.startswith(own)},
        seconds("sql-gateway.session.idle-timeout", IDLE_SECONDS),
        int(most),
        seconds("sql-gateway.session.check-interval", LOOK_SECONDS),
    )
