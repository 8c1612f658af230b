"""``millrace history-server``: shows jobs that have ended, from their archives."""

from __future__ import annotations

import click

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
        from millrace.cluster.rest.options import UnsafeServerError
        from millrace.cluster.rest.serving import NoPortError
    except ImportError as error:
        text = f"The history server needs more packages: pip install 'millrace-streaming[cluster]' ({error})"
        raise click.ClickException(text) from None

    from millrace.common.files.stores import settings as stores
    from millrace.configuration.files import file_settings
    from millrace.configuration.registry import with_new_names

    try:
        options = {**file_settings(config_dir), **with_new_names(options)}
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    stores.use(options)
    places = [*directories, *[each.strip() for each in options.get(_DIRECTORY, "").split(",") if each.strip()]]
    if not places:
        raise click.UsageError(f"Where are the archives? Name their directory with --dir, or with -D {_DIRECTORY}=DIR.")
    try:
        _serve(places, _own(options, port))
    except (UnsafeServerError, NoPortError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _own(options: dict[str, str], port: str | None) -> dict[str, str]:
    """The options of the REST server, from those of the history server."""
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
    from millrace.cluster.history.holder import HistoryHolder
    from millrace.cluster.history.retained import retained
    from millrace.cluster.rest.app import make_app
    from millrace.cluster.rest.options import HISTORY_PORTS, binding, is_loopback, rest_settings
    from millrace.cluster.rest.serving import RestServer
    from millrace.cluster.rest.web.tokens import new_token

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
    from millrace.common.config_values import to_duration

    return to_duration(text).to_millis() / 1000
