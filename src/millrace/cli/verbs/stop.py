"""``millrace stop``: end a job with a savepoint."""

from __future__ import annotations

import click

from millrace.cli.verbs.base import DETACHED, SAVEPOINT_FORMAT, failing, job_id, verb, where_options, wrong_arguments


@verb()
@click.argument("words", metavar="JOB", nargs=-1)
@click.option(
    "-p",
    "--savepointPath",
    "directory",
    metavar="DIRECTORY",
    help="Where the savepoint goes.  [default: execution.checkpointing.savepoint-dir of the job]",
)
@click.option("-d", "--drain", is_flag=True, help="Let the sources end before, so that every event-time timer fires.")
@SAVEPOINT_FORMAT
@DETACHED
@where_options
def stop(
    words: tuple[str, ...],
    directory: str | None,
    drain: bool,
    kind: str,
    detached: bool,
    address: str | None,
    properties: tuple[str, ...],
) -> None:
    """Stop a job with a savepoint."""
    from millrace.cli.verbs.finding import jobs_at
    from millrace.cli.verbs.waiting import telling

    if not words:
        wrong_arguments("Missing JobId")
    job = job_id(words[0])
    click.echo(f'{"Draining" if drain else "Suspending"} job "{job}" with a {kind.upper()} savepoint.')
    could_not = f'Could not stop with a savepoint job "{job}".'
    if detached:
        click.echo(f"Triggering stop-with-savepoint in detached mode for job {job}.")
        with failing(could_not):
            trigger = jobs_at(address, properties, job).begin_stop(job, directory, drain, kind == "native")
        click.echo(f"Successfully trigger stop-with-savepoint in detached mode, triggerId: {trigger}")
        return
    click.echo(f"Triggering stop-with-savepoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(could_not), telling(address, properties, job):
        path = jobs_at(address, properties, job).stop(job, directory, drain, kind == "native")
    click.echo(f"Savepoint completed. Path: {path}")
