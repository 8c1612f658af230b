"""``millrace info``: the plan of a program, without running its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.plans.first_job import of_first_job
from millrace.cli.texts.refused import OF_INFO, refusing

if TYPE_CHECKING:
    from millrace.datastream.settings.defaults import Submission


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
    click.echo(of_first_job(program, _document if document else PLANS[graph]))


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


PLANS: dict[str | None, Callable[[Submission], str]] = {None: _of_flink, "svg": _svg, "mermaid": _mermaid}
"""what ``--graph`` says -> the plan in that form; None: JSON"""


def _document(submission: Submission) -> str:
    from millrace.cluster.documents.codec import encode
    from millrace.cluster.publishing.planned import planned_document

    if submission.prepare is None:
        return submission.plan()  # says why there is none
    return encode(planned_document(*submission.prepare())).decode()
