"""``millrace savepoint``: delete a savepoint. Taking one is up to the process whose job it is, for now."""

from __future__ import annotations

import click


@click.command()
@click.argument("job", required=False)
@click.argument("directory", required=False)
@click.option("-d", "--dispose", metavar="PATH", help="Delete the savepoint at this path.")
def savepoint(job: str | None, directory: str | None, dispose: str | None) -> None:
    """Delete a savepoint that is no longer needed.

    A savepoint of a running job is taken by its own process: `kill -USR1 PID` of `millrace run`, or
    JobClient.trigger_savepoint() in the program.
    """
    if dispose is not None and job is not None:
        raise click.UsageError("--dispose deletes one savepoint and takes no job: leave out the other arguments")
    if dispose is not None:
        _dispose(dispose)
    elif job is not None:
        raise click.UsageError(
            f"the job {job} runs in another process, which only that process can reach so far; nearest: kill -USR1 PID "
            "of its `millrace run`, or JobClient.trigger_savepoint() in its program"
        )
    else:
        raise click.UsageError("which savepoint? Give its path with --dispose PATH")


def _dispose(path: str) -> None:
    from millrace.checkpoint.savepoints.disposal import NotDisposedError, dispose

    try:
        uri = dispose(path)
    except NotDisposedError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"deleted the savepoint {uri}")
