"""What can be wrong with the files of a checkpoint or savepoint."""

from __future__ import annotations

__all__ = ["CorruptFileError", "MissingFileError", "RestoreError", "SnapshotError"]


class SnapshotError(Exception):
    """A checkpoint or savepoint can't be used. The text names the file and says what is wrong with it."""


class MissingFileError(SnapshotError):
    """A file that the metadata names is not there."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is missing, but the metadata of its checkpoint or savepoint names it")
        self.path = path


class CorruptFileError(SnapshotError):
    """A file is not what was written."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path} is corrupt: {what}")
        self.path = path


class RestoreError(Exception):
    """The program does not fit the checkpoint or savepoint that it shall go on from; nothing has run."""
