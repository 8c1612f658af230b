"""The first job that a program would run, instead of running it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from millrace.cli.options import ProgramOptions
from millrace.cli.rehearsal import Rehearsal, rehearsal

if TYPE_CHECKING:
    from millrace.datastream.settings.defaults import Submission

PARALLELISM = "parallelism.default"


class _ShownError(BaseException):
    """Ends the program where it would have run its job; no ``except Exception`` of its own stops that."""

    def __init__(self, text: str) -> None:
        self.text = text


def of_first_job(options: ProgramOptions, shown: Callable[[Submission], str], *, parallelism: int | None = None) -> str:
    """What ``shown`` says of the job. The program runs up to its execute(); what it prints goes to standard error.

    Ends the command with a message if the program fails or has no job.

    :param parallelism: where neither the command nor the configuration names one.
    """
    from millrace.cli.errors import report

    with rehearsal(options) as found:
        if parallelism is not None:
            given = {PARALLELISM: str(parallelism), **found.settings.configuration}
            found = replace(found, settings=replace(found.settings, configuration=given))
        try:
            text = _text(found, shown)
        except Exception as error:
            explained = report(error)
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
    if text is None:
        raise click.ClickException(
            f"{found.program.target} ended without executing a job, so there is nothing to show of it"
        )
    return text


def _text(found: Rehearsal, shown: Callable[[Submission], str]) -> str | None:
    def show(submission: Submission) -> NoReturn:
        raise _ShownError(shown(submission))

    try:
        found.run(show)
    except _ShownError as first:
        return first.text
    return None
