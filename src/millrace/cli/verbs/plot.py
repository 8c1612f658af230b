"""``millrace plot``: throughput, watermark and epochs of a running job as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from millrace.cli.verbs.base import failed, failing, job_id, verb, where_options, wrong_arguments


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="An SVG file to write.")
@where_options
def plot(words: tuple[str, ...], output: Path | None, address: str | None, properties: tuple[str, ...]) -> None:
    """Draw how a job runs: elements read, watermark, epochs (SVG).

    The last 200 epochs are known. Without -o the picture goes to standard output.
    """
    from millrace.cli.verbs.finding import jobs_at
    from millrace.cluster.insights.courses import NoCourseError, plotted

    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to plot a job.")
    job = job_id(words[0])
    with failing(f"Failed to plot the job {job}."):
        document = jobs_at(address, properties, job).document(job)
    try:
        picture = plotted(document).svg(alone=True)
    except NoCourseError as error:
        failed(f"Failed to plot the job {job}.", str(error))
    if output is None:
        click.echo(picture)
    else:
        output.write_text(picture + "\n", "utf-8")
        click.echo(f"{output}")
