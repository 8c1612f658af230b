"""``millrace checkpoint``: take a checkpoint of a job now."""

from __future__ import annotations

import click

from millrace.cli.verbs.base import failing, job_id, verb, where_options, wrong_arguments


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option("-full", "--full", is_flag=True, help="All of the state, not only what has changed.")
@where_options
def checkpoint(words: tuple[str, ...], full: bool, address: str | None, properties: tuple[str, ...]) -> None:
    """Take a checkpoint of a running job."""
    from millrace.cli.verbs.finding import jobs_at

    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to manipulate a checkpoint.")
    job = job_id(words[0])
    click.echo(f"Triggering checkpoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(f"Failed to trigger a checkpoint for the job {job}."):
        number = jobs_at(address, properties, job).checkpoint(job, full)
    click.echo(f"Checkpoint{'(FULL)' if full else ''} {number} for job {job} completed.")
    click.echo("You can resume your program from this checkpoint with the run command.")
