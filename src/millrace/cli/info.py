"""``millrace info``: the plan of a program, without running its job."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from typing import NoReturn

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.program import Program, find_program
from millrace.cli.settings import RunSettings, run_settings


class _PlanFoundError(BaseException):
    """Ends the program where it would have run its job; no ``except Exception`` of its own stops that."""

    def __init__(self, plan: str) -> None:
        self.plan = plan


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
def info(program: ProgramOptions) -> None:
    """Print the plan (JSON, as Flink's) of the first job that a program would run.

    The program runs up to its execute(). What it prints goes to standard error.
    """
    from millrace.cli.errors import report

    found = find_program(program)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        settings = run_settings(program, found, directory)
        try:
            plan = _plan(found, settings, program.pyflink)
        except Exception as error:
            explained = report(error)
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
    if plan is None:
        raise click.ClickException(f"{found.target} ended without executing a job, so there is no plan")
    click.echo(plan)


def _plan(program: Program, settings: RunSettings, pyflink: bool) -> str | None:
    from millrace.cli.hooks import hooks
    from millrace.datastream.settings.defaults import Submission

    def show(submission: Submission) -> NoReturn:
        raise _PlanFoundError(submission.plan())

    try:
        with hooks(settings, show, pyflink=pyflink), contextlib.redirect_stdout(sys.stderr):
            program.run(settings.paths)
    except _PlanFoundError as found:
        return found.plan
    return None
