"""``millrace session``: keep a warm Spark that ends by itself when it is idle."""

from __future__ import annotations

import os
import sys
import time
from typing import NoReturn

import click

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
    from millrace.cli.cluster.preparing import MASTER, wanted
    from millrace.cli.options import key_values
    from millrace.common.config_values import to_duration
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
    from millrace.cluster.places import run_folder

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
    from millrace.cluster.places import job_folder, run_folder
    from millrace.cluster.places.descriptions import describe_engine
    from millrace.cluster.places.session_facts import read_facts

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
