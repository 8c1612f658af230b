"""``millrace sql-gateway``: sessions and statements over REST."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from millrace.cli.options import ProgramOptions, pyflink_anyway, surroundings_options

if TYPE_CHECKING:
    from millrace.cli.settings import RunSettings

EPILOG = """
start: in the background; stop: the one that was started last; stop-all: all that were; start-foreground, and no word at
all: until Ctrl-C or SIGTERM.

INSERTs become jobs of the cluster that runs, or of the one that -m names, and go on without the gateway. Without a
cluster (or with -D execution.target=local) they end with it.

Flink's clients and drivers of the gateway send no token: for them -D security.rest.auth=none, on loopback only.

Exit codes: 0 done, or stopped by Ctrl-C or SIGTERM, 1 it could not begin, 2 wrong options.
"""
_ACTIONS = ("start", "start-foreground", "stop", "stop-all")


@click.command("sql-gateway", epilog=EPILOG)
@click.argument("action", type=click.Choice(_ACTIONS), default="start-foreground", required=False)
@click.option("-m", "--jobmanager", "address", metavar="ADDRESS", help="host:port of the cluster that takes the jobs.")
@click.option("--folder", hidden=True, metavar="DIR")
@surroundings_options
@pyflink_anyway
def sql_gateway(action: str, program: ProgramOptions, address: str | None, folder: str | None) -> None:
    """Serve SQL over REST, as Flink's gateway does: sessions, statements, results in pages."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("msgspec", "starlette", "uvicorn", "httpx")):
        raise click.ClickException("the SQL gateway needs more packages: pip install 'millrace-streaming[cluster]'")
    from millrace.cli.gateway import background

    if action in ("stop", "stop-all"):
        for line in background.stop(all_of_them=action == "stop-all"):
            click.echo(line)
        return
    program = program if address is None else _at(program, address)
    from millrace.cluster.rest.options import UnsafeServerError
    from millrace.cluster.rest.serving import NoPortError

    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        try:
            settings = _settings(program, directory)
            if action == "start" and folder is None:
                background.start(settings.configuration)
                return
            from millrace.cli.gateway.serving import serve

            serve(settings, folder)
        except (UnsafeServerError, NoPortError, ValueError) as error:
            raise click.ClickException(str(error)) from None


def _settings(program: ProgramOptions, directory: str) -> RunSettings:
    from millrace.cli.program import Program
    from millrace.cli.settings import run_settings

    return run_settings(program, Program("sql-gateway", True, ()), directory)


def _at(program: ProgramOptions, address: str) -> ProgramOptions:
    """The options with the cluster at an address as that of all jobs."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise click.UsageError(f"-m {address}: that is no HOST:PORT")
    given = (("execution.target", "remote"), ("rest.address", host), ("rest.port", str(port or 8081)))
    return replace(program, properties=(*program.properties, *given))
