"""``millrace cancel``: end a job at once."""

from __future__ import annotations

import click

from millrace.cli.verbs.base import failing, job_id, verb, where_options, wrong_arguments

_DEPRECATED = 'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.'


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option(
    "-s",
    "--withSavepoint",
    "savepoint",
    is_flag=False,
    flag_value="",
    metavar="[DIRECTORY]",
    help="Take a savepoint first (Flink calls that deprecated: use stop).",
)
@where_options
def cancel(words: tuple[str, ...], savepoint: str | None, address: str | None, properties: tuple[str, ...]) -> None:
    """Cancel a job."""
    from millrace.cli.verbs.finding import jobs_at
    from millrace.cli.verbs.waiting import telling

    if not words and savepoint:
        words, savepoint = (savepoint,), ""  # `cancel -s JOB`: the option has taken the job for its directory
    if not words:
        wrong_arguments("Missing JobID. Specify a JobID to cancel a job.")
    job = job_id(words[0])
    could_not = f"Could not cancel job {job}."
    if savepoint is None:
        click.echo(f"Cancelling job {job}.")
        with failing(could_not):
            jobs_at(address, properties, job).cancel(job)
        click.echo(f"Cancelled job {job}.")
        return
    where = f"to {savepoint}." if savepoint else "to default savepoint directory."
    click.echo(_DEPRECATED)
    click.echo(f"Cancelling job {job} with CANONICAL savepoint {where}")
    with failing(could_not):
        jobs = jobs_at(address, properties, job)
        with telling(address, properties, job):
            path = jobs.savepoint(job, savepoint or None, native=False)
        jobs.cancel(job)
    click.echo(f"Cancelled job {job}. Savepoint stored in {path}.")
