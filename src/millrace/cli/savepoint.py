"""``millrace savepoint``: delete a savepoint. Taking one is up to the process whose job it is, for now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from millrace.checkpoint.files.folder import Folder

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
    from millrace.checkpoint.files.errors import SnapshotError
    from millrace.checkpoint.files.folder import open_folder
    from millrace.checkpoint.savepoints.metadata import METADATA

    try:
        folder = open_folder(path.rstrip("/").removesuffix(f"/{METADATA}"))
        _check(folder)
    except (OSError, ValueError, SnapshotError) as error:
        raise click.ClickException(f"nothing is deleted: {error}") from None
    folder.delete_tree()
    click.echo(f"deleted the savepoint {folder.uri}")


def _check(folder: Folder) -> None:
    """See that a folder is a savepoint and nothing else. Raises ``ValueError``, ``OSError``, ``SnapshotError``."""
    from millrace.checkpoint.savepoints.metadata import METADATA, SAVEPOINT, read_metadata

    metadata = read_metadata(folder)
    if metadata.kind != SAVEPOINT:
        raise ValueError(
            f"{folder.uri} is a checkpoint of job {metadata.job_id}, which shares files with others; nearest: when the "
            "job needs none of them any more, delete the folder of the job"
        )
    own = {METADATA, *(file.path for saved in metadata.saved.values() for file in saved.files)}
    others = sorted(set(folder.files()) - own)
    if others:
        raise ValueError(f"{folder.uri} holds more than the savepoint ({others[0]}): put that elsewhere first")
