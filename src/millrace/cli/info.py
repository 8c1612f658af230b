"""``millrace info``: the plan of a program, without running its job."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.program import Program, find_program
from millrace.cli.settings import RunSettings, run_settings
from millrace.cli.texts.refused import OF_INFO, refusing

if TYPE_CHECKING:
    from millrace.datastream.settings.defaults import Submission


class _PlanFoundError(BaseException):
    """Ends the program where it would have run its job; no ``except Exception`` of its own stops that."""

    def __init__(self, plan: str) -> None:
        self.plan = plan


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
@refusing(OF_INFO)
@click.option("--document", is_flag=True, hidden=True, help="The job as the document that REST answers are made of.")
@click.option(
    "--graph",
    type=click.Choice(["svg", "mermaid"]),
    help="The plan as a picture instead: SVG, or text that GitHub and other tools of Markdown show as one.",
)
def info(program: ProgramOptions, document: bool, graph: str | None) -> None:
    """Print the plan (JSON, as Flink's) of the first job that a program would run.

    The program runs up to its execute(). What it prints goes to standard error.
    """
    from millrace.cli.errors import report

    found = find_program(program)
    with tempfile.TemporaryDirectory(prefix="millrace-ship-") as directory:
        settings = run_settings(program, found, directory)
        try:
            plan = _plan(found, settings, program.pyflink, _document if document else _PLANS[graph])
        except Exception as error:
            explained = report(error)
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
    if plan is None:
        raise click.ClickException(f"{found.target} ended without executing a job, so there is no plan")
    click.echo(plan)


def _of_flink(submission: Submission) -> str:
    return submission.plan()


def _svg(submission: Submission) -> str:
    from millrace.graph.picture import of_plan_json
    from millrace.util.drawing.svg import svg

    return svg(of_plan_json(submission.plan()), "plan of the program")


def _mermaid(submission: Submission) -> str:
    from millrace.graph.picture import of_plan_json
    from millrace.util.drawing.mermaid import mermaid

    return mermaid(of_plan_json(submission.plan()))


_PLANS: dict[str | None, Callable[[Submission], str]] = {None: _of_flink, "svg": _svg, "mermaid": _mermaid}


def _document(submission: Submission) -> str:
    from millrace.cluster.documents.codec import encode
    from millrace.cluster.publishing.planned import planned_document

    if submission.prepare is None:
        return submission.plan()  # says why there is none
    return encode(planned_document(*submission.prepare())).decode()


def _plan(
    program: Program, settings: RunSettings, pyflink: bool, shown: Callable[[Submission], str]
) -> str | None:
    from millrace.cli.hooks import hooks

    def show(submission: Submission) -> NoReturn:
        raise _PlanFoundError(shown(submission))

    try:
        with hooks(settings, show, pyflink=pyflink), contextlib.redirect_stdout(sys.stderr):
            program.run(settings.paths)
    except _PlanFoundError as found:
        return found.plan
    return None
