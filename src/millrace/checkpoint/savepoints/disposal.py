"""Deleting a savepoint, and nothing else."""

from __future__ import annotations

from millrace.checkpoint.files.errors import SnapshotError
from millrace.checkpoint.files.folder import Folder, open_folder
from millrace.checkpoint.savepoints.metadata import METADATA, SAVEPOINT, read_metadata
from millrace.common.files.file_systems import absolute


class NotDisposedError(Exception):
    """The savepoint is not deleted; the text says why."""


def dispose(path: str) -> str:
    """Delete the savepoint at a path; where it was.

    :raises NotDisposedError: it is none, or there is more in its folder, or it cannot be deleted.
    """
    try:
        folder = open_folder(absolute(path).rstrip("/").removesuffix(f"/{METADATA}"))
        _check(folder)
        folder.delete_tree()
    except (OSError, ValueError, SnapshotError) as error:
        raise NotDisposedError(f"nothing is deleted: {error}") from None
    return folder.uri


def _check(folder: Folder) -> None:
    """See that a folder is a savepoint and nothing else. Raises ``ValueError``, ``OSError``, ``SnapshotError``."""
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
