"""What the verbs have in common: how Flink's command says that something is wrong, and where."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""
HELP_HINT = "Use the help option (-h or --help) to get help on the command."
_LINE = "-" * 60
_EXAMPLE = "fd72014d4c864993a2e5a9287b4a9c5d"
FORMATS = click.Choice(("canonical", "native"), case_sensitive=False)


class Verb(click.Command):
    """A command whose mistakes are told as Flink tells them: on standard output, with exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            wrong_arguments(error.format_message())


def verb(name: str | None = None) -> Callable[[Callable[..., Any]], Verb]:
    """Makes a command of a function."""
    return click.command(name, cls=Verb, context_settings={"help_option_names": ["-h", "--help"]})


JOBMANAGER = click.option(
    "-m",
    "--jobmanager",
    "address",
    metavar="ADDRESS",
    help="host:port of the cluster, or the name that `millrace cluster status` shows.",
)
IGNORED = (
    # Where the jobs are is known without it: -t remote, -D rest.port=... of Flink's scripts.
    click.option("-t", "--target", hidden=True, expose_value=False),
    click.option("-D", "properties", multiple=True, hidden=True, metavar="KEY=VALUE"),
)


def where_options(command: F) -> F:
    """Add the options that say which cluster is meant: ``address`` and ``properties``."""
    for option in (*IGNORED, JOBMANAGER):
        command = option(command)
    return command


def wrong_arguments(text: str) -> NoReturn:
    """The command line is wrong."""
    click.echo(text)
    click.echo()
    click.echo(HELP_HINT)
    sys.exit(1)


def job_id(word: str) -> str:
    """The id of a job. Ends the command where that is none."""
    from millrace.cluster.places.submissions import check_id

    try:
        return check_id(word)
    except ValueError:
        wrong_arguments(
            f'Cannot parse JobID from "{word}". The expected format is [0-9a-fA-F]{{32}}, e.g. {_EXAMPLE}.'
        )


@contextlib.contextmanager
def failing(text: str) -> Iterator[None]:
    """What cannot be done inside ends the command, with this text and the reason."""
    from millrace.cluster.remote.elsewhere import ElsewhereError

    try:
        yield
    except ElsewhereError as error:
        failed(text, str(error))


def failed(text: str, cause: str) -> NoReturn:
    """What was asked for has failed."""
    click.echo(f"\n{_LINE}\n The program finished with the following exception:\n", err=True)
    click.echo(text, err=True)
    click.echo(f"Caused by: {cause}", err=True)
    sys.exit(1)
