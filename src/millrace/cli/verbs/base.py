"""What the verbs have in common: how Flink's command says that something is wrong, and where."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import click

from millrace.cli.spelling import all_spelled
from millrace.cli.targets import check_kind
from millrace.cli.texts.outline import Outlined
from millrace.cli.texts.refused import OF_VERBS, refusing

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""
HELP_HINT = "Use the help option (-h or --help) to get help on the command."
_LINE = "-" * 60
_EXAMPLE = "fd72014d4c864993a2e5a9287b4a9c5d"
_EARLY = frozenset({"-m", "-t", "-e", "-z", "-yid"})
"""options that Flink's command reads before it looks at its action"""
FATAL = 31
"""Exit code of Flink's command when it has not come to its action."""


class Verb(Outlined):
    """A command whose mistakes are told as Flink tells them: on standard output, with exit code 1."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            options = [each for each in self.params if isinstance(each, click.Option)]
            return super().parse_args(ctx, list(all_spelled(args, options)))
        except click.NoSuchOption as error:
            wrong_arguments(f"Unrecognized option: {error.option_name}{_meant(error)}")
        except click.BadOptionUsage as error:
            self._missing(error.option_name)
        except click.UsageError as error:
            wrong_arguments(error.format_message())

    def _missing(self, given: str) -> NoReturn:
        """An option has no value."""
        name = next((each.opts[0] for each in self.params if given in each.opts), given)
        text = f"Missing argument for option: {name.lstrip('-')}"
        if name in _EARLY:
            click.echo(text, err=True)
            sys.exit(FATAL)
        wrong_arguments(text)


def _meant(error: click.NoSuchOption) -> str:
    """A hint where a long name was written like a short one with its value behind it."""
    if error.option_name.startswith("--") or not error.possibilities:
        return ""
    short = error.option_name[:2]
    return f" (is {' or '.join(error.possibilities)} meant? {short} takes its value behind a space)"


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
def _check_target(_: click.Context, __: click.Parameter, value: str | None) -> None:
    if value is not None:
        check_kind(value)


_WHERE = (
    click.option("-D", "properties", multiple=True, metavar="KEY=VALUE", help="rest.address and rest.port say where."),
    click.option(
        "-t",
        "--target",
        "-e",
        "--executor",
        "target",
        expose_value=False,
        callback=_check_target,
        metavar="WHERE",
        help="As for `run`; without effect: where the jobs are is known without it.",
    ),
)


def _format(_: click.Context, __: click.Parameter, value: str) -> str:
    if value.upper() not in FORMATS:
        expected = f"Expected one of: [[{', '.join(FORMATS)}]]"
        failed(
            "Could not parse value for enum class org.apache.flink.core.execution.SavepointFormatType. " + expected,
            f"-type {value}",
        )
    return value.lower()


FORMATS = ("CANONICAL", "NATIVE")
SAVEPOINT_FORMAT = click.option(
    "-type",
    "--type",
    "kind",
    default="canonical",
    callback=_format,
    metavar="FORMAT",
    help="Format of the savepoint: canonical or native.",
)
DETACHED = click.option(
    "-detached", "detached", is_flag=True, help="Return when it has begun, and print the id to ask the REST API with."
)


def where_options(command: F) -> F:
    """Add the options that say which cluster is meant: ``address`` and ``properties``."""
    for option in (*_WHERE, JOBMANAGER):
        command = option(command)
    return refusing(OF_VERBS)(command)


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
