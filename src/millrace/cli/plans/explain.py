"""``millrace explain``: what a program does, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.cli.command import ProgramCommand
from millrace.cli.options import ProgramOptions, program_options
from millrace.cli.plans.first_job import of_first_job
from millrace.cli.plans.info import PLANS
from millrace.cli.texts.refused import OF_INFO, refusing

if TYPE_CHECKING:
    from millrace.datastream.settings.defaults import Submission
    from millrace.testing.timelines import Timeline


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
@refusing(OF_INFO)
@click.option("--timeline", is_flag=True, help="Run the program without Spark and show windows, watermark and timers.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "svg"]),
    help="Of the time line.  [default: svg for a file that is called so, else text]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for it.  [default: standard output]",
)
def explain(program: ProgramOptions, timeline: bool, form: str | None, output: Path | None) -> None:
    """Show what a program does: its plan, or a time line of its first elements.

    Options stand before the program. With --timeline the first job runs in this process, one element after the
    other and, unless the program says otherwise, with parallelism 1; up to 200 elements are shown. Sinks write.
    """
    if not timeline and form is not None:
        raise click.UsageError("--format says how a time line is shown: add --timeline")
    if timeline:
        form = form or ("svg" if output is not None and output.suffix == ".svg" else "text")
        text = of_first_job(program, _svg if form == "svg" else _text, parallelism=1)
    else:
        text = of_first_job(program, PLANS[None])
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", "utf-8")
        click.echo(f"{output}")


def _recorded(submission: Submission) -> Timeline:
    from millrace.testing.timelines import TimelineError, record_job

    if submission.prepare is None:
        raise TimelineError("a query of batch mode is run by Spark, so there is no time line of it")
    job, _ = submission.prepare()
    recorded = record_job(job)
    if not recorded.complete:
        click.echo("the program has more elements than a time line can show: only its first ones are in it", err=True)
    return recorded


def _svg(submission: Submission) -> str:
    return _recorded(submission).to_svg(alone=True)


def _text(submission: Submission) -> str:
    return _recorded(submission).to_text()
