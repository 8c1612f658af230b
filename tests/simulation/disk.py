"""A file system in memory whose operations fail, end with the death of the process, or take effect much later."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tests.simulation.faults import DiskError

if TYPE_CHECKING:
    from tests.simulation.world import World

_KINDS = (
    (re.compile(r"/savepoint-[^/]*/_metadata$"), "a savepoint's metadata"),
    (re.compile(r"/_metadata$"), "metadata"),
    (re.compile(r"\.delta$"), "a delta"),
    (re.compile(r"\.full$"), "a whole state"),
    (re.compile(r"/chk-\d+$"), "a checkpoint"),
    (re.compile(r"/savepoint-"), "a savepoint"),
    (re.compile(r"/epochs$"), "a number"),
    (re.compile(r"/orders/"), "orders"),
    (re.compile(r"/driver$"), "who drives"),
    (re.compile(r"/shared(/\d+-\d+)?$"), "state"),
)


def kind_of(path: str) -> str:
    """What the path is, for people and for counting."""
    return next((kind for pattern, kind in _KINDS if pattern.search(path)), "a job")


class Disk:
    """All files of a world."""

    def __init__(self, world: World) -> None:
        self.files: dict[str, bytes] = {}
        self._world = world

    def open(self, uri: str) -> MemoryFolder:
        """In the place of ``millrace.checkpoint.folder.open_folder``."""
        return MemoryFolder(self, uri)

    def write(self, path: str, pieces: Iterable[Any]) -> int:
        world, what = self._world, f"write {kind_of(path)}"
        world.touch(what, path)
        content = b"".join(map(bytes, pieces))
        # Whatever dies in the middle of a write leaves nothing: a file appears as a whole.
        if world.task is None:
            self._fail("driver's write fails", what)
            world.promises.file_written(path, content)
            self.files[path] = content
            world.touch(f"{what}, done", path)
            self._fail("driver's write seems to fail", what)
        elif world.task.zombie:
            world.task.later(f"write {world.short(path)}", lambda: self._late(path, content))
        else:
            self._fail("task's write fails", what)
            self.files[path] = content
            world.touch(f"{what}, done", path)
        return len(content)

    def _late(self, path: str, content: bytes) -> None:
        self._world.haunted.add(path)
        self.files[path] = content

    def read(self, path: str) -> bytes:
        what = f"read {kind_of(path)}"
        self._world.touch(what, path)
        self._fail("read fails", what)
        try:
            return self.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def below(self, path: str) -> list[str]:
        """All files of a folder."""
        what = f"list {kind_of(path)}"
        self._world.touch(what, path)
        self._fail("read fails", what)
        prefix = path + "/"
        return sorted(file for file in self.files if file.startswith(prefix))

    def delete(self, paths: Iterable[str], what: str) -> None:
        for path in paths:
            self._world.touch(what, path)
            self._fail("delete fails", what)
            self._world.promises.file_deleted(path)
            self.files.pop(path, None)
            self._world.touch(f"{what}, done", path)

    def giving_up(self, place: str) -> None:
        """A whole folder is about to be deleted."""
        if kind_of(place) == "a job":
            self._world.job_deleted(place)

    def _fail(self, kind: str, what: str) -> None:
        if self._world.chances.happens(kind, what):
            self._world.note(f"{kind}: {what}")
            raise DiskError(f"{kind}: {what}")


class _Open:
    """A ``StoredFile``."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self._content = content

    def read(self, begin: int, length: int) -> bytes:
        return self._content[begin : begin + length]

    def close(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class MemoryFolder:
    """A ``millrace.checkpoint.folder.Folder``."""

    def __init__(self, disk: Disk, uri: str) -> None:
        self.uri = uri.rstrip("/")
        self._disk = disk

    def _path(self, path: str) -> str:
        return f"{self.uri}/{path}" if path else self.uri

    def write(self, path: str, pieces: Iterable[Any]) -> int:
        return self._disk.write(self._path(path), pieces)

    def write_new(self, path: str, content: bytes) -> int:
        there = self._disk.files.get(self._path(path))
        if there is not None and there != content:
            raise FileExistsError(self._path(path))
        return self.write(path, [content])

    def read(self, path: str) -> bytes:
        return self._disk.read(self._path(path))

    def open(self, path: str) -> _Open:
        return _Open(self.read(path))

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        return self.open(path).read(begin, length)

    def sizes(self, path: str = "") -> dict[str, int]:
        start = len(self.uri) + 1
        return {file[start:]: len(self._disk.files[file]) for file in self._disk.below(self._path(path))}

    def persist(self, paths: Iterable[str]) -> None:
        """Nothing that was written is ever lost here."""

    def sweep(self) -> None:
        """Nothing is ever half written here."""

    def size(self, path: str) -> int | None:
        content = self._disk.files.get(self._path(path))
        return None if content is None else len(content)

    def files(self, path: str = "") -> list[str]:
        start = len(self.uri) + 1
        return [file[start:] for file in self._disk.below(self._path(path))]

    def delete(self, path: str) -> None:
        file = self._path(path)
        self._disk.delete([file], f"delete {kind_of(file)}")

    def delete_tree(self, path: str = "") -> None:
        place = self._path(path)
        self._disk.giving_up(place)
        prefix = place + "/"
        found = sorted(file for file in self._disk.files if file.startswith(prefix))
        self._disk.delete(found, f"delete all of {kind_of(place)}")

    def child(self, path: str) -> MemoryFolder:
        return MemoryFolder(self._disk, self._path(path))
