"""``millrace sql``: the command line."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace

import click

from millrace.cli.options import ProgramOptions, pyflink_anyway, surroundings_options

EPILOG = """
Without -f and -e statements are typed at a prompt; in a pipe they are read from standard input. Jobs that INSERT has
started live as long as the client: with -f and -e it waits for them.

millrace sql gateway -e URL does the same at a SQL gateway, where jobs go on without the client. It shows the token of
the option security.rest.token, or of the environment variable MILLRACE_REST_TOKEN.

Exit codes: 0 all statements went well, 1 one has failed, 2 wrong options, 130 stopped by Ctrl-C.
"""

_NO_JARS = (
    "jars are not used: connectors, formats and functions are Python here. Install a connector with pip, give modules "
    "with functions with -pyfs, and jars for Spark itself with -D spark.jars=PATH"
)


@click.command("sql", epilog=EPILOG)
@click.argument("mode", type=click.Choice(["embedded", "gateway"]), required=False)
@surroundings_options
@pyflink_anyway
@click.option(
    "-f", "--file", "file", type=click.Path(exists=True, dir_okay=False), help="Run the statements of a file."
)
@click.option("-e", "short", metavar="SQL", help="Run these statements; in mode gateway the same as --endpoint.")
@click.option("--execute", metavar="SQL", help="Run these statements.")
@click.option("--endpoint", metavar="URL", help="In mode gateway: the SQL gateway where statements run.")
@click.option(
    "-i", "--init", type=click.Path(exists=True, dir_okay=False), help="Run the statements of a file before all else."
)
@click.option(
    "--environment",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of Flink's client up to 1.13: tables, views, functions, settings, catalogs, in YAML.",
)
@click.option(
    "--output",
    type=click.Choice(["screen", "csv", "json", "arrow"]),
    help="How rows are written: for people, or for other programs (CSV with names, a JSON object a line, a stream of "
    "Arrow's for each statement).",
)
@click.option("-hist", "--history", type=click.Path(), help="Where typed statements are stored.")
@click.option("-s", "--session", hidden=True, expose_value=False, metavar="NAME")
@click.option("-u", "--update", hidden=True, metavar="SQL")
@click.option("-j", "--jar", "jars", multiple=True, hidden=True, metavar="PATH")
@click.option("-l", "--library", "libraries", multiple=True, hidden=True, metavar="DIR")
def sql(
    mode: str | None,
    program: ProgramOptions,
    file: str | None,
    short: str | None,
    endpoint: str | None,
    execute: str | None,
    init: str | None,
    environment: str | None,
    output: str | None,
    history: str | None,
    update: str | None,
    jars: tuple[str, ...],
    libraries: tuple[str, ...],
) -> None:
    """Type SQL, or run it from a file: tables, queries and INSERTs as Flink's SQL client takes them."""
    if mode == "gateway":
        endpoint = _one(endpoint, short, "-e and --endpoint")
        if endpoint is None:
            raise click.UsageError("in mode gateway, -e says where it is: -e http://localhost:8083")
    else:
        execute = _one(execute, short, "-e and --execute")
        if endpoint is not None:
            raise click.UsageError("--endpoint is for the mode gateway: millrace sql gateway -e URL")
    if sum(given is not None for given in (file, execute, update)) > 1:
        raise click.UsageError("-f, -e and -u contradict each other: give one of them")
    if jars or libraries:
        click.echo(f"{'-j' if jars else '-l'}: {_NO_JARS}", err=True)
    if update is not None:
        click.echo("-u is Flink's old name of -e", err=True)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        from millrace.cli.sql.start import Start, start

        if output is not None:
            program = replace(program, properties=(*program.properties, ("millrace.sql.output", output)))
        statements = execute if execute is not None else update
        sys.exit(start(Start(program, directory, init, file, statements, history, endpoint, environment)))


def _one(long: str | None, short: str | None, names: str) -> str | None:
    if long is not None and short is not None:
        raise click.UsageError(f"{names} are the same: give one of them")
    return long if short is None else short


COMMANDS = (sql,)
