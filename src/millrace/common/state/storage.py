"""Interfaces for users' own state backends and checkpoint storages, and the retention of checkpoints of cancelled
jobs.

Everything else of a state backend is Millrace's: how values, lists, maps, windows and timers become entries, what goes
into checkpoints, and rebuilding the store from them after a failure. The driver and all tasks make a checkpoint
storage for each location that they use, and call it from several threads at once.
``millrace.testing.check_state_backend`` and ``millrace.testing.check_checkpoint_storage`` test implementations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

# State backends

ROWS_MEMORY = 256 * 1024 * 1024
"""The bytes of SQL's rows that a process has in memory unless configured, if its state is elsewhere."""


@dataclass(frozen=True)
class StorePlace:
    """The task that a store belongs to. No two stores have the same place.

    >>> place = StorePlace("job", stage=1, partition=0, copy="a")
    >>> place.name
    'job-1-0-a'
    """

    job_id: str
    stage: int
    partition: int
    copy: str
    """tells this store from others of the task: an earlier store may still exist if its process was killed"""

    @property
    def name(self) -> str:
        """A name for files and tables: letters, digits and ``-`` only."""
        return f"{self.job_id}-{self.stage}-{self.partition}-{self.copy}"


class KeyValueStore(ABC):
    """Entries in the order of their keys, as ``bytes`` compare.

    One task uses a store, one call at a time, from one thread after another. It begins empty, and what it holds may go
    when it is closed or its process dies: after that the task is rebuilt, in another store. Any exception fails the
    epoch.

        >>> sorted(KeyValueStore.__abstractmethods__)
        ['get', 'last_before', 'scan', 'write']
    """

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """The value of a key, None without."""

    @abstractmethod
    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Store (key, value) pairs, and delete the keys whose value is None, be they there or not.

        Each key is there once, in order. Later calls see the changes.
        """

    @abstractmethod
    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) from ``start`` on, in order. The iterator may be left before its end; nothing is written
        while it is in use, but ``get`` and other scans may be called."""

    @abstractmethod
    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        """The (key, value) with the largest key less than ``end``, None without."""

    def close(self) -> None:
        """The store will not be used again: delete it. Not called when the process is killed."""


# Checkpoint storages

SCHEME = "plugin://"
"""prefix of the URIs of users' own storages"""


def own_uri(cls: type[CheckpointFiles], location: str) -> str:
    """The URI of a location: any process that can import the class finds it again."""
    return f"{SCHEME}{cls.__module__}:{cls.__qualname__}/{location.rstrip('/')}"


class CheckpointFiles(ABC):
    """Files of checkpoints, savepoints and of the state of running tasks.

    Paths are relative, with ``/`` between their parts. What one process has written others can read at once. A location
    may be the first part of a path: ``Files("a/b").read("c")`` reads what ``Files("a").write("b/c", ...)`` wrote.

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


# Retained checkpoints


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints outlive the job that wrote them.

    >>> config = env.get_checkpoint_config()
    >>> _ = config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    """

    DELETE_ON_CANCELLATION = 0
    """The checkpoints stay if the job fails, and are deleted if it is cancelled."""

    RETAIN_ON_CANCELLATION = 1
    """The checkpoints stay if the job fails or is cancelled; the user deletes them."""

    NO_EXTERNALIZED_CHECKPOINTS = 2
    """Checkpoints serve only the recovery of the running job."""
