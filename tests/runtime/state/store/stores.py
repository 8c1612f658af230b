"""State backends of a user's own: one in SQLite, one in a sorted list."""

from __future__ import annotations

import bisect
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from millrace.datastream.state_backend import KeyValueStateBackend, KeyValueStore, StorePlace


class SqliteStore(KeyValueStore):
    def __init__(self, path: str) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, check_same_thread=False)
        self._connection.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def get(self, key: bytes) -> bytes | None:
        found = self._connection.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if found is None else bytes(found[0])

    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        with self._connection as connection:
            connection.executemany(
                "REPLACE INTO entries VALUES (?, ?)", [pair for pair in changes if pair[1] is not None]
            )
            connection.executemany(
                "DELETE FROM entries WHERE key = ?", [(key,) for key, value in changes if value is None]
            )

    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._connection.execute("SELECT key, value FROM entries WHERE key >= ? ORDER BY key", (start,))

    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        query = "SELECT key, value FROM entries WHERE key < ? ORDER BY key DESC LIMIT 1"
        found: tuple[bytes, bytes] | None = self._connection.execute(query, (end,)).fetchone()
        return found

    def close(self) -> None:
        self._connection.close()
        os.unlink(self.path)


class SqliteBackend(KeyValueStateBackend):
    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory or tempfile.mkdtemp(prefix="millrace-test-")

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, str]) -> SqliteBackend:
        return cls(configuration.get("my.sqlite.directory"))

    def open_store(self, place: StorePlace) -> KeyValueStore:
        return SqliteStore(os.path.join(self.directory, place.name))

    def discard(self, job_id: str) -> None:
        for name in os.listdir(self.directory):
            if name.startswith(job_id):
                os.unlink(os.path.join(self.directory, name))


class SortedStore(KeyValueStore):
    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.values: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self.values.get(key)

    def write(self, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        for key, value in changes:
            if value is None:
                if self.values.pop(key, None) is not None:
                    self.keys.remove(key)
            else:
                if key not in self.values:
                    bisect.insort(self.keys, key)
                self.values[key] = value

    def scan(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key in self.keys[bisect.bisect_left(self.keys, start) :]:
            yield key, self.values[key]

    def last_before(self, end: bytes) -> tuple[bytes, bytes] | None:
        place = bisect.bisect_left(self.keys, end)
        return (self.keys[place - 1], self.values[self.keys[place - 1]]) if place else None


class SortedBackend(KeyValueStateBackend):
    def open_store(self, place: StorePlace) -> KeyValueStore:
        return SortedStore()


class FormerBackend:
    """No backend at all."""


class HalfBackend(KeyValueStateBackend):
    """Lacks its method."""


class OddBackend(KeyValueStateBackend):
    @classmethod
    def from_configuration(cls, configuration: Mapping[str, str]) -> KeyValueStateBackend:
        return "nothing"  # type: ignore[return-value]

    def open_store(self, place: StorePlace) -> KeyValueStore:
        return {}  # type: ignore[return-value]
