"""Checkpoint storages of a user's own: in memory, in one SQLite file, and files of the local disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable

from millrace.checkpoint.folder import LocalFolder
from millrace.common.state.storage import CheckpointFiles

MEMORY: dict[str, bytes] = {}


class MemoryFiles(CheckpointFiles):
    """What all objects share, by the whole path."""

    def _path(self, path: str) -> str:
        return f"{self.location}/{path}" if path else self.location

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        MEMORY[self._path(path)] = b"".join(pieces)

    def read(self, path: str) -> bytes:
        try:
            return MEMORY[self._path(path)]
        except KeyError:
            raise FileNotFoundError(path) from None

    def files(self, folder: str) -> Iterable[str]:
        begin, skip = self._path(folder) + "/", len(self.location) + 1
        return [path[skip:] for path in list(MEMORY) if path.startswith(begin)]

    def delete(self, path: str) -> None:
        MEMORY.pop(self._path(path), None)


class SqliteFiles(CheckpointFiles):
    """Rows of one database: ``/path/of/database!folder/in/it``, a path of the machine."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        database, _, self._folder = location.partition("!")
        if not database.startswith("/"):
            raise ValueError("the database needs an absolute path")
        self._database = database
        with self._connect() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, content BLOB)")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._database, timeout=60)

    def _path(self, path: str) -> str:
        return "/".join(filter(None, (self._folder.strip("/"), path)))

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        content = b"".join(pieces)
        with self._connect() as connection:
            connection.execute("REPLACE INTO files VALUES (?, ?)", (self._path(path), content))

    def read(self, path: str) -> bytes:
        query = "SELECT content FROM files WHERE path = ?"
        found = self._connect().execute(query, (self._path(path),)).fetchone()
        if found is None:
            raise FileNotFoundError(path)
        return bytes(found[0])

    def files(self, folder: str) -> Iterable[str]:
        begin, base = self._path(folder), self._path("")
        paths = [path for (path,) in self._connect().execute("SELECT path FROM files")]
        below = [path for path in paths if not begin or path.startswith(begin + "/")]
        return [path[len(base) + 1 :] if base else path for path in below]

    def delete(self, path: str) -> None:
        with self._connect() as connection:
            connection.execute("DELETE FROM files WHERE path = ?", (self._path(path),))


class DiskFiles(CheckpointFiles):
    """Millrace's own local files."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self._folder = LocalFolder(location)

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        self._folder.write(path, pieces)

    def read(self, path: str) -> bytes:
        return self._folder.read(path)

    def files(self, folder: str) -> Iterable[str]:
        return self._folder.files(folder)

    def delete(self, path: str) -> None:
        self._folder.delete(path)

    def size(self, path: str) -> int | None:
        return self._folder.size(path)

    def delete_below(self, folder: str) -> None:
        self._folder.delete_tree(folder)


class NoFiles(CheckpointFiles):
    """Lacks most methods."""

    def read(self, path: str) -> bytes:
        return os.fsencode(path)
