"""``millrace session`` and ``sql-gateway``: processes that wait for programs, or for statements over REST.

A session is a warm Spark that ends by itself when it is idle.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from millrace.cli.options import ProgramOptions, pyflink_anyway, surroundings_options

if TYPE_CHECKING:
    from millrace.cli.program import RunSettings


# millrace session

DEFAULT_NAME = "session"
_NEEDS = "a session needs more packages: pip install 'millrace-streaming[cluster]'"


@click.group()
def session() -> None:
    """Keep a warm Spark for `millrace run` and `millrace sql`: their first rows come within a second.

    It is a cluster without a server and web pages, of this user on this machine, and ends when nothing has run for a
    while.
    """
    from importlib.util import find_spec

    if find_spec("msgspec") is None:
        raise click.ClickException(_NEEDS)


@session.command()
@click.option("-D", "properties", multiple=True, metavar="KEY=VALUE", help="Configuration, also of Spark.")
@click.option("--idle-timeout", default="30 min", show_default=True, metavar="TIME", help="When it ends by itself.")
def start(properties: tuple[str, ...], idle_timeout: str) -> None:
    """Start the session in the background; this returns when it is ready."""
    from millrace.cli.cluster import lifecycle
    from millrace.cli.cluster.lifecycle import MASTER, wanted
    from millrace.cli.options import key_values
    from millrace.common.configuration import to_duration
    from millrace.configuration.spark_settings import environment
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        seconds = to_duration(idle_timeout).to_millis() / 1000
        asked = wanted(dict(key_values(properties)), None, None)
        named = asked.configuration.get(MASTER)
        if named is not None and not named.startswith("local"):
            _fail(f"a session is on this machine, not on {named}: `millrace cluster start` is for other ones")
        os.environ.update(environment(asked.configuration, os.environ))
        require_java()
        lifecycle.start_session(DEFAULT_NAME, asked, seconds)
    except (JavaNotFoundError, lifecycle.ClusterError, ValueError, OSError) as error:
        _fail(str(error))
    click.echo(f"the session is ready; it ends when nothing has run for {seconds:g} s")


@session.command()
def stop() -> None:
    """Stop the session: its jobs are cancelled."""
    from millrace.cli.cluster import lifecycle
    from millrace.cluster import run_folder

    found = run_folder.find(run_folder.SESSION)
    if not found:
        orphans = lifecycle.end_orphans(run_folder.new_folder(DEFAULT_NAME))
        if not orphans:
            _fail("no session runs")
        click.echo(f"stopped what was left of it: {', '.join(orphans)}")
        return
    try:
        lifecycle.stop(found[0])
    except lifecycle.ClusterError as error:
        _fail(str(error))
    click.echo("stopped the session")


@session.command()
def status() -> None:
    """Show the session."""
    from millrace.cluster import job_folder, run_folder
    from millrace.cluster.job_folder import read_facts
    from millrace.cluster.run_folder import describe_engine

    found = run_folder.find(run_folder.SESSION)
    if not found:
        _fail("no session runs")
    folder, entry = found[0].folder, found[0].entry
    facts, engine = read_facts(folder), describe_engine(folder)
    minutes = (time.time() - entry.began / 1000) / 60
    running = len(list(job_folder.names(folder, job_folder.JOBS)))
    click.echo(f"the session has run for {minutes:.0f} min: process {entry.process.pid}")
    click.echo(f"  programs: {running}; it ends when nothing has run for {facts.idle_seconds:g} s")
    if engine is None:
        click.echo("  Spark: not there, it is just being started")
    else:
        click.echo(f"  Spark: {engine.master}, {engine.slots} slots, {engine.web_page or 'no web page'}")
    click.echo(f"  folder: {folder}")


def _fail(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(1)


# millrace sql-gateway

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
    from millrace.cli.cluster import background_gateways

    if action in ("stop", "stop-all"):
        for line in background_gateways.stop(all_of_them=action == "stop-all"):
            click.echo(line)
        return
    program = program if address is None else _at(program, address)
    from millrace.cluster.rest.serving import NoPortError
    from millrace.cluster.rest.settings import UnsafeServerError

    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        try:
            settings = _settings(program, directory)
            if action == "start" and folder is None:
                background_gateways.start(settings.configuration)
                return
            from millrace.cli.cluster.gateway import serve

            serve(settings, folder)
        except (UnsafeServerError, NoPortError, ValueError) as error:
            raise click.ClickException(str(error)) from None


def _settings(program: ProgramOptions, directory: str) -> RunSettings:
    from millrace.cli.program import Program, run_settings

    return run_settings(program, Program("sql-gateway", True, ()), directory)


def _at(program: ProgramOptions, address: str) -> ProgramOptions:
    """The options, with the cluster at an address as the one that takes all jobs."""
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


COMMANDS = (session, sql_gateway)
