"""``millrace savepoint``: take a savepoint of a job, or delete one."""

from __future__ import annotations

import click

from millrace.cli.verbs.base import (
    DETACHED,
    SAVEPOINT_FORMAT,
    failed,
    failing,
    job_id,
    verb,
    where_options,
    wrong_arguments,
)


@verb()
@click.argument("words", metavar="[JOB [DIRECTORY]]", nargs=-1)
@click.option("-d", "--dispose", metavar="PATH", help="Delete the savepoint at this path.")
@SAVEPOINT_FORMAT
@DETACHED
@click.option("-j", "--jarfile", metavar="FILE", expose_value=False, help="Without effect: savepoints need no jar.")
@where_options
def savepoint(
    words: tuple[str, ...],
    dispose: str | None,
    kind: str,
    detached: bool,
    address: str | None,
    properties: tuple[str, ...],
) -> None:
    """Take a savepoint of a running job, or delete one that is no longer needed."""
    if dispose is not None and words:
        wrong_arguments("--dispose deletes one savepoint and takes no job: leave out the other arguments")
    if dispose is not None:
        _dispose(dispose)
        return
    if not words:
        wrong_arguments("Missing JobID. Specify a Job ID to trigger a savepoint.")
    from millrace.cli.verbs.finding import jobs_at
    from millrace.cli.verbs.waiting import telling

    job, directory = job_id(words[0]), words[1] if len(words) > 1 else None
    if len(words) > 2:
        click.echo("Provided more arguments than required. Ignoring not needed arguments.")
    could_not = f"Failed to trigger a savepoint for the job {job}."
    if detached:
        click.echo(f"Triggering savepoint in detached mode for job {job}.")
        with failing(could_not):
            trigger = jobs_at(address, properties, job).begin_savepoint(job, directory, kind == "native")
        click.echo(f"Successfully trigger manual savepoint, triggerId: {trigger}")
        return
    click.echo(f"Triggering savepoint for job {job}.")
    click.echo("Waiting for response...")
    with failing(could_not), telling(address, properties, job):
        path = jobs_at(address, properties, job).savepoint(job, directory, kind == "native")
    click.echo(f"Savepoint completed. Path: {path}")
    click.echo("You can resume your program from this savepoint with the run command.")


def _dispose(path: str) -> None:
    """Here, and not in the cluster: the command reaches the savepoint whether a cluster runs or not."""
    from millrace.checkpoint.savepoints.disposal import NotDisposedError, dispose

    click.echo(f"Disposing savepoint '{path}'.")
    click.echo("Waiting for response...")
    try:
        dispose(path)
    except NotDisposedError as error:
        failed(f"Failed to dispose the savepoint '{path}'.", str(error))
    click.echo(f"Savepoint '{path}' disposed.")
