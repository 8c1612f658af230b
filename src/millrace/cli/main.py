"""The ``millrace`` command: its verbs, its help in the outline of Flink's command, and ``--version``.

A module with verbs names them in ``COMMANDS``; one right in ``millrace.cli`` is found if its name ends with ``_verbs``.
Such modules must be quick to import: a verb imports what it needs inside its function.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import click

import millrace
from millrace import cli
from millrace.cli.command_line import write_action
from millrace.util.names import close_to

_OF_FLINK = ("run", "list", "info", "savepoint", "stop", "cancel")
"""the actions that Flink's message names, in its order"""
WITH_VERBS = ("run", "sql.command", "state", "cdc", "cluster.verbs", "cluster.session_verbs")
"""modules below ``millrace.cli`` that are not found by their name"""
ORDER = (
    *("run", "run-application", "sql", "sql-gateway", "info", "explain", "list", "cancel", "stop", "savepoint"),
    *("checkpoint", "state", "plot", "prepare", "lint", "test", "doctor", "new", "demo", "cdc", "cluster", "session"),
    "history-server",
)
"""the verbs as the help lists them"""


class Actions(click.Group):
    """A group of verbs whose help contains that of all actions of Flink's command, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            click.echo("Please specify an action.")
            click.echo(ctx.get_help())
            ctx.exit(1)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None:
            self._refuse(word)
        return super().resolve_command(ctx, args)

    def _refuse(self, word: str) -> None:
        if word.startswith("-"):
            return  # click says that there is no such option
        named = ", ".join(f'"{each}"' for each in _OF_FLINK[:-1])
        click.echo(f'"{word}" is not a valid action.\n')
        click.echo(f'Valid actions are {named}, or "{_OF_FLINK[-1]}".')
        others = [each for each in self.commands if each not in _OF_FLINK]
        click.echo(f"Millrace has these, too: {', '.join(others)}.\n")
        meant = close_to(word, self.commands)
        if meant is not None:
            click.echo(f'Did you mean "millrace {meant}"?\n')
        click.echo("Specify the version option (-v or --version) to print the version of Millrace.\n")
        click.echo("Specify the help option (-h or --help) to get help on the command.")
        sys.exit(1)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("millrace <ACTION> [OPTIONS] [ARGUMENTS]\n\n")
        formatter.write(f"{self.help}\n\nThe following actions are available:\n")
        for name in (*_OF_FLINK, "checkpoint"):
            command = self.commands[name]
            write_action(command, click.Context(command, info_name=name, parent=ctx), formatter)
        formatter.write("\n")
        with formatter.section("More actions, whose help `millrace ACTION -h` shows"):
            others = [name for name in self.commands if name not in (*_OF_FLINK, "checkpoint")]
            formatter.write_dl([(name, self.commands[name].get_short_help_str(60)) for name in others])
        click.Command.format_options(self, ctx, formatter)


def versions() -> str:
    """The versions for a bug report, in one line."""
    return f"Millrace {millrace.__version__}, Python {platform.python_version()}, PySpark {_pyspark()}, {_java()}"


def _pyspark() -> str:
    from importlib import metadata

    try:
        return metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return "not found"


def _java() -> str:
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        java = require_java()
    except JavaNotFoundError:
        return "no Java 17 or newer found"
    return f"Java {java.major} ({java.executable})"


def show_versions(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions and exit, if the option is given."""
    if wanted:
        click.echo(versions())
        context.exit()


@click.group(cls=Actions, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    "-v",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_versions,
    help="Show the versions of Millrace and of what it runs on.",
)
def main() -> None:
    """Flink programs on Spark."""


def verbs() -> Iterator[click.Command]:
    """All verbs, in the order of ``ORDER``; those that it does not name come last."""
    found = sorted(each.name for each in iter_modules(cli.__path__) if each.name.endswith("_verbs"))
    modules = (import_module(f"millrace.cli.{name}") for name in (*WITH_VERBS, *found))
    commands: dict[str, click.Command] = {each.name: each for module in modules for each in module.COMMANDS}
    for name in sorted(commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)):
        yield commands[name]


for _verb in verbs():
    main.add_command(_verb)
