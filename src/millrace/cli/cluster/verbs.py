"""``millrace cluster`` (start, stop and look at a cluster on this machine) and ``history-server``, which shows ended
jobs.

The history server reads the archives of jobs.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from millrace.cli.cluster.lifecycle import Running


# millrace cluster

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
    from millrace.cluster import run_folder

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
    from millrace.cluster import run_folder

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
    from millrace.cli.job_lookup import clusters
    from millrace.cluster import run_folder
    from millrace.cluster.processes.remote_daemons import daemon_statuses
    from millrace.cluster.run_folder import describe_engine

    running = clusters()
    for found in running:
        click.echo(f"cluster {found.name!r}: {found.entry.address or 'its server is not there'}")
        click.echo(f"  supervisor: process {found.entry.process.pid}")
        for name, process in lifecycle.processes(found.folder).items():
            click.echo(f"  {name}: {'not there' if process is None else f'process {process.pid}'}")
        for standing in daemon_statuses(found.folder):
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
    from millrace.cli.cluster.lifecycle import wanted
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


# millrace history-server

_DIRECTORY = "historyserver.archive.fs.dir"
_INTERVAL = "historyserver.archive.fs.refresh-interval"


def _options(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    options = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{value!r} is not key=value, as in -D historyserver.web.port=8082")
        options[key.strip()] = text
    return options


@click.command("history-server")
@click.option("--dir", "directories", multiple=True, metavar="DIR", help=f"Where archives are: {_DIRECTORY}.")
@click.option("--port", metavar="PORT", help="Where it listens: historyserver.web.port; 8082 and above by default.")
@click.option("--config-dir", metavar="DIR", help="Where config.yaml is, instead of $MILLRACE_CONF_DIR or ./conf.")
@click.option("-D", "options", multiple=True, metavar="KEY=VALUE", callback=_options, help="Set an option.")
def history_server(
    directories: tuple[str, ...], port: str | None, config_dir: str | None, options: dict[str, str]
) -> None:
    """Show jobs that have ended.

    They are archived where jobmanager.archive.fs.dir says, while they are run. Nothing can be changed through the
    server; it deletes archives only where historyserver.archive.retained-jobs or -ttl says so.
    """
    try:
        from millrace.cluster.rest.serving import NoPortError
        from millrace.cluster.rest.settings import UnsafeServerError
    except ImportError as error:
        text = f"The history server needs more packages: pip install 'millrace-streaming[cluster]' ({error})"
        raise click.ClickException(text) from None

    from millrace.common.files import store_settings
    from millrace.configuration.files import file_settings
    from millrace.configuration.registry import with_new_names

    try:
        options = {**file_settings(config_dir), **with_new_names(options)}
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    store_settings.use_in_process(options)
    places = [*directories, *[each.strip() for each in options.get(_DIRECTORY, "").split(",") if each.strip()]]
    if not places:
        raise click.UsageError(f"Where are the archives? Name their directory with --dir, or with -D {_DIRECTORY}=DIR.")
    try:
        _serve(places, _own(options, port))
    except (UnsafeServerError, NoPortError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _own(options: dict[str, str], port: str | None) -> dict[str, str]:
    """The REST server's options, taken from the history server's."""
    own = {**options}
    for theirs, key in (("web.address", "rest.bind-address"), ("web.port", "rest.bind-port")):
        if f"historyserver.{theirs}" in options:
            own[key] = options[f"historyserver.{theirs}"]
    if port is not None:
        own["rest.bind-port"] = port
    if "historyserver.web.refresh-interval" in options:
        own["web.refresh-interval"] = options["historyserver.web.refresh-interval"]
    return own


def _serve(places: list[str], options: dict[str, str]) -> None:
    from millrace.cluster.history import HistoryHolder, retained
    from millrace.cluster.rest.app import make_app
    from millrace.cluster.rest.endpoints import new_token
    from millrace.cluster.rest.serving import RestServer
    from millrace.cluster.rest.settings import HISTORY_PORTS, binding, is_loopback, rest_settings

    where = binding(options, HISTORY_PORTS)
    # On loopback it has nothing that a token would protect: it changes nothing.
    token = None if is_loopback(where.address) else options.get("security.rest.token") or new_token()
    settings = rest_settings(options, token, where, history=True)
    holder = HistoryHolder(places, _seconds(options.get(_INTERVAL, "10 s")), retained=retained(options))
    server = RestServer(make_app(holder, None, settings), where)
    link = server.address if token is None else f"{server.address}/?token={token}"
    click.echo(f"The history of jobs in {', '.join(places)} is at {link}")
    server.run()


def _seconds(text: str) -> float:
    from millrace.common.configuration import to_duration

    return to_duration(text).to_millis() / 1000


COMMANDS = (cluster, history_server)
