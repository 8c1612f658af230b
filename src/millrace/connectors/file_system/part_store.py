"""``PartStore``: what sinks do with the files of parts.

**Nothing here ever changes bytes that are written.** A file grows at its end, by the hands of the one writer that made
it, until it is renamed or deleted. So a run of a task that nobody hears of any more (a speculative copy, a task on an
executor that was taken for lost, a process that was stopped and goes on) can at most add to files of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import is_local, open_file_system
from millrace.common.files.stores.kinds import makes_folders
from millrace.common.files.stores.problems import explaining

__all__ = ["LocalPartStore", "PartStore", "discard_file", "is_file", "part_store"]

BUFFER_SIZE = 1 << 18


class PartStore:
    """Any file system: a file is written from its beginning to its end in one epoch."""

    grows = False
    """whether a file may be closed and written on later"""

    def __init__(self, file_system: Any, root: str = "") -> None:
        self._file_system = file_system
        self._root = root

    def create(self, path: str, buffering: int = BUFFER_SIZE) -> Any:
        """A stream of bytes into a new file; directories are made."""
        with explaining(self._root):
            if not makes_folders(self._file_system):
                self._file_system.create_dir(path.rpartition("/")[0], recursive=True)
            return self._file_system.open_output_stream(path)

    def append(self, path: str, size: int) -> Any:
        """A stream of bytes to the end of a file, which has ``size`` bytes and grows by no other writer.

        :raises OSError: it has not.
        """
        raise NotImplementedError("files of this file system do not grow")

    def copy(self, source: str, size: int, target: str) -> Any:
        """A new file with the first ``size`` bytes of another one, open for more."""
        raise NotImplementedError("files of this file system do not grow")

    def size(self, path: str) -> int | None:
        """None if there is no such file."""
        with explaining(self._root):
            info = self._file_system.get_file_info(path)
        return info.size if info.type is fs.FileType.File else None

    def free_target(self, target: str, otherwise: str) -> str:
        """Where to move a part: a move may have come half its way before, so what is at ``target`` is this very part.
        Elsewhere it could be that of another job."""
        return target

    def move(self, path: str, target: str) -> None:
        with explaining(self._root):
            self._file_system.move(path, target)

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone is fine."""
        with explaining(self._root):
            discard_file(self._file_system, path)

    def files(self, directory: str) -> Iterator[str]:
        """All files below a directory, none if it is not there."""
        selector = fs.FileSelector(directory, allow_not_found=True, recursive=True)
        with explaining(self._root):
            found = self._file_system.get_file_info(selector)
        yield from (info.path for info in found if info.type is fs.FileType.File)


class LocalPartStore(PartStore):
    """Files of the operating system, on a disk or on one that machines share."""

    grows = True

    def create(self, path: str, buffering: int = BUFFER_SIZE) -> Any:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "xb", buffering)

    def append(self, path: str, size: int) -> Any:
        # Without O_CREAT: what is gone stays gone.
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "ab", 0)
        length = os.fstat(file.fileno()).st_size
        if length != size:
            file.close()
            raise OSError(f"{path} has {length} bytes, but its only writer has written {size}")
        return file

    def copy(self, source: str, size: int, target: str) -> Any:
        with open(source, "rb", 0) as old:
            copy = self.create(target, 0)
            try:
                _copy_bytes(old.fileno(), copy.fileno(), size)
                copy.seek(size)
            except BaseException:
                copy.close()
                self.delete(target)
                raise
        return copy

    def free_target(self, target: str, otherwise: str) -> str:
        return target if self.size(target) is None else otherwise

    def files(self, directory: str) -> Iterator[str]:
        for place, _, names in os.walk(directory):  # without asking for the size of each
            yield from (f"{place}/{name}" for name in names)


def part_store(root: str) -> PartStore:
    """The files behind a URI, "" for local ones."""
    file_system = open_file_system(root)[0]
    return LocalPartStore(file_system) if is_local(file_system) else PartStore(file_system, root)


def _copy_bytes(source: int, target: int, size: int) -> None:
    """Within the kernel where it can: some file systems then share the blocks."""
    left = size
    while left:
        done = _copy_some(source, target, left, at=size - left)
        if not done:
            raise OSError(f"the file ends after {size - left} of {size} bytes")
        left -= done


def _copy_some(source: int, target: int, count: int, at: int) -> int:
    try:
        return os.copy_file_range(source, target, count, at, at)
    except (AttributeError, OSError):
        return os.pwrite(target, os.pread(source, min(count, BUFFER_SIZE), at), at)


def is_file(file_system: Any, path: str) -> bool:
    """Whether there is a file of that name."""
    return bool(file_system.get_file_info(path).type == fs.FileType.File)


def discard_file(file_system: Any, path: str) -> None:
    """Delete a file; one that is gone is fine."""
    try:
        file_system.delete_file(path)
    except FileNotFoundError:
        pass
