"""The first job that a program would run, instead of running it."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import click

from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program, find_program
from millrace.cli.settings import RunSettings, run_settings

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

    found = find_program(options)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        settings = run_settings(options, found, directory)
        if parallelism is not None:
            settings = replace(settings, configuration={PARALLELISM: str(parallelism), **settings.configuration})
        try:
            text = _text(found, settings, options.pyflink, shown)
        except Exception as error:
            explained = report(error)
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
    if text is None:
        raise click.ClickException(f"{found.target} ended without executing a job, so there is nothing to show of it")
    return text


def _text(
    program: Program, settings: RunSettings, pyflink: bool, shown: Callable[[Submission], str]
) -> str | None:
    from millrace.cli.hooks import hooks

    def show(submission: Submission) -> NoReturn:
        raise _ShownError(shown(submission))

    try:
        with hooks(settings, show, pyflink=pyflink), contextlib.redirect_stdout(sys.stderr):
            program.run(settings.paths)
    except _ShownError as found:
        return found.text
    return None
