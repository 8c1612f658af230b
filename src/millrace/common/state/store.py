"""What a state backend of a user's own gives each task: an ordered store of bytes.

Everything else is Millrace's: how values, lists, maps, windows and timers become entries, what goes into checkpoints,
and building the store anew from them after a failure. ``millrace.testing.check_state_backend`` tests an implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["KeyValueStore", "StorePlace"]


@dataclass(frozen=True)
class StorePlace:
    """Which task a store is for. No two stores have the same place.

        >>> place = StorePlace("job", stage=1, partition=0, copy="a")
        >>> place.name
        'job-1-0-a'
    """

    job_id: str
    stage: int
    partition: int
    copy: str
    """tells this store from others of the task: an earlier one may still be there when its process was killed"""

    @property
    def name(self) -> str:
        """A name for files and tables: letters, digits and ``-`` only."""
        return f"{self.job_id}-{self.stage}-{self.partition}-{self.copy}"


class KeyValueStore(ABC):
    """Entries in the order of their keys, as ``bytes`` compare.

    One task uses a store, one call at a time, from one thread after another. It begins empty, and what it holds may go
    when it is closed or its process dies: after that the task is built anew, in another store. Any exception fails the
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
