"""What a checkpoint storage of a user's own has to do: keep files that appear as a whole and never change.

The driver and all tasks make one for each location that they use, and call it from several threads at once.
``millrace.testing.check_checkpoint_storage`` tests an implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

__all__ = ["SCHEME", "CheckpointFiles", "own_uri"]

SCHEME = "plugin://"
"""what the URIs of such storages begin with"""


def own_uri(cls: type[CheckpointFiles], location: str) -> str:
    """The URI of a location: any process that can import the class finds it again."""
    return f"{SCHEME}{cls.__module__}:{cls.__qualname__}/{location.rstrip('/')}"


class CheckpointFiles(ABC):
    """Files of checkpoints, savepoints and of the state of running tasks.

    Paths are relative, with ``/`` between their parts. What one process has written others read at once. A location may
    go on with a path: ``Files("a/b").read("c")`` reads what ``Files("a").write("b/c", ...)`` wrote.

        >>> sorted(CheckpointFiles.__abstractmethods__)
        ['delete', 'files', 'read', 'write']

    :param location: what the program gave as the place of its checkpoints, without ``/`` at its end.
    """

    def __init__(self, location: str) -> None:
        self.location = location

    @abstractmethod
    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        """Store a file; one of that name is replaced. Others see all of it or nothing, also if this raises, or if two
        write the same path at once. ``pieces`` may be more than fits into memory, and may raise."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file. Raises ``FileNotFoundError``."""

    @abstractmethod
    def files(self, folder: str) -> Iterable[str]:
        """The paths of all files below a folder ("" for all), as they were written, in any order; none without it."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is fine."""

    def size(self, path: str) -> int | None:
        """The size of a file in bytes, None if there is none. Reads the file where this is not overridden."""
        try:
            return len(self.read(path))
        except FileNotFoundError:
            return None

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        """Some bytes of a file, fewer at its end. Reads all of it where this is not overridden.

        Raises ``FileNotFoundError``.
        """
        return self.read(path)[begin : begin + length]

    def delete_below(self, folder: str) -> None:
        """Delete all files below a folder. One after the other where this is not overridden."""
        for path in list(self.files(folder)):
            self.delete(path)
