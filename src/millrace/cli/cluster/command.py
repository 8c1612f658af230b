"""``millrace cluster``: start, stop and look at a cluster on this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from millrace.cli.cluster.lifecycle import Running

_NEEDS = "the cluster commands need more packages: pip install 'millrace-streaming[cluster]'"


@click.group()
def cluster() -> None:
    """Keep a warm Spark and a server that jobs are submitted to."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("msgspec", "starlette", "uvicorn", "httpx")):
        raise click.ClickException(_NEEDS)


def _settings(command: Any) -> Any:
    for option in reversed(
        (
            click.option("--name", default="cluster", show_default=True, help="What tells it from other clusters."),
            click.option("-D", "properties", multiple=True, metavar="KEY=VALUE", help="Configuration, also of Spark."),
            click.option("--master", metavar="URL", help="Spark to run on.  [default: local, with a slot a processor]"),
            click.option(
                "--workers",
                type=click.IntRange(1),
                metavar="N",
                help="Start Spark's master and N workers here.  [default: those of conf/workers, if there are any]",
            ),
        )
    ):
        command = option(command)
    return command


@cluster.command()
@_settings
def start(name: str, properties: tuple[str, ...], master: str | None, workers: int | None) -> None:
    """Start a cluster in the background; its address is printed when it is ready."""
    _show(_start(name, properties, master, workers))


@cluster.command("start-foreground")
@_settings
def start_foreground(name: str, properties: tuple[str, ...], master: str | None, workers: int | None) -> None:
    """Start a cluster, and stop it when this command ends (Ctrl-C, SIGTERM)."""
    import signal
    import threading

    from millrace.cli.cluster import lifecycle
    from millrace.cluster.places import run_folder

    running = _start(name, properties, master, workers)
    _show(running)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    found = run_folder.read_entry(running.folder)
    while found is not None and found.entry.process.is_alive and not stopped.wait(1):
        continue
    if found is None or not found.entry.process.is_alive:
        _fail("the cluster has ended")
    _stop(lifecycle, found)


@cluster.command()
@click.option("--name", help="Which one, if several run.")
def stop(name: str | None) -> None:
    """Stop a cluster: its jobs are cancelled."""
    from millrace.cli.cluster import lifecycle
    from millrace.cluster.places import run_folder

    found = [each for each in run_folder.find(run_folder.CLUSTER) if name in (None, each.name)]
    if not found:
        orphans = lifecycle.end_orphans(run_folder.new_folder(name or lifecycle.DEFAULT_NAME))
        if not orphans:
            _fail("no cluster runs" if name is None else f"no cluster {name!r} runs")
        click.echo(f"stopped what was left of it: {', '.join(orphans)}")
        return
    if len(found) > 1:
        _fail(f"several clusters run: give --name ({', '.join(each.name for each in found)})")
    _stop(lifecycle, found[0])


def _stop(lifecycle: Any, found: Any) -> None:
    try:
        lifecycle.stop(found)
    except lifecycle.ClusterError as error:
        _fail(str(error))
    click.echo(f"stopped the cluster {found.name!r}")


@cluster.command()
def status() -> None:
    """Show the clusters of this user on this machine, and programs that run in the foreground."""
    from millrace.cli.cluster import lifecycle
    from millrace.cli.cluster.running import clusters
    from millrace.cluster.places import run_folder
    from millrace.cluster.places.descriptions import describe_engine
    from millrace.cluster.standalone.standing import standings

    running = clusters()
    for found in running:
        click.echo(f"cluster {found.name!r}: {found.entry.address or 'its server is not there'}")
        click.echo(f"  supervisor: process {found.entry.process.pid}")
        for name, process in lifecycle.processes(found.folder).items():
            click.echo(f"  {name}: {'not there' if process is None else f'process {process.pid}'}")
        for standing in standings(found.folder):
            click.echo(f"  {standing.name} ({standing.host}): {standing.text}")
        engine = describe_engine(found.folder)
        if engine is not None:
            click.echo(f"  Spark: {engine.master}, {engine.slots} slots, {engine.web_page or 'no web page'}")
        click.echo(f"  folder: {found.folder}")
    runs = run_folder.find(run_folder.FOREGROUND)
    for found in runs:
        click.echo(f"in the foreground: {found.described}, process {found.entry.process.pid}")
    if not running:
        click.echo("no cluster runs" if runs else "nothing runs")
        sys.exit(0 if runs else 1)


def _start(name: str, properties: tuple[str, ...], master: str | None, workers: int | None) -> Running:
    from millrace.cli.cluster import lifecycle
    from millrace.cli.cluster.preparing import wanted
    from millrace.cli.options import key_values
    from millrace.configuration.spark_settings import environment
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        asked = wanted(dict(key_values(properties)), master, workers)
        os.environ.update(environment(asked.configuration, os.environ))  # where Java is, for one
        require_java()
        return lifecycle.start(name, asked, lambda text: click.echo(text, err=True))
    except (JavaNotFoundError, lifecycle.ClusterError, ValueError, OSError) as error:
        _fail(str(error))


def _show(running: Running) -> None:
    click.echo(f"cluster at {running.url}")
    click.echo(f"dashboard: {running.url}/?token={running.token}")


def _fail(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(1)
