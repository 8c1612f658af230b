"""Files below one directory, on the local disk or on any file system that pyarrow or fsspec opens.

Paths are relative and have ``/`` between their parts. A file appears as a whole or not at all, and never changes.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable
from typing import Any, Protocol

from pyarrow import fs

from millrace.common.file_systems import is_local, locate

__all__ = ["Folder", "open_folder"]

Payload = Iterable[Any]
"""Pieces of bytes, written one after the other."""


class Folder(Protocol):
    """Where the files of a job, a checkpoint or a savepoint lie."""

    uri: str

    def write(self, path: str, pieces: Payload) -> int:
        """Store a file; its size. Folders that it needs are made; a file of that name is replaced."""

    def read(self, path: str) -> Any:
        """The content as one buffer of bytes. Raises ``FileNotFoundError``."""

    def size(self, path: str) -> int | None:
        """The size of a file, None if there is none."""

    def files(self, path: str = "") -> list[str]:
        """All files below a path, as paths of this folder; none if it does not exist."""

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone is fine."""

    def delete_tree(self, path: str = "") -> None:
        """Delete all below a path, and the folder itself; one that is gone is fine."""

    def child(self, path: str) -> Folder: ...


def open_folder(uri: str) -> Folder:
    """The folder at a path or URI, be it there or not. Raises ``ValueError`` for a scheme that nothing here opens."""
    location = locate(uri)
    system = location.file_system()
    return LocalFolder(location.path) if is_local(system) else RemoteFolder(uri, system, location.path)


class LocalFolder:
    """Files of this machine, written aside and renamed."""

    def __init__(self, path: str) -> None:
        self.uri = path

    def _path(self, path: str) -> str:
        return f"{self.uri}/{path}" if path else self.uri

    def write(self, path: str, pieces: Payload) -> int:
        target = self._path(path)
        temporary = f"{target}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp"
        try:
            file = open(temporary, "wb")  # noqa: SIM115  closed below; the folder is made only when it is missing
        except FileNotFoundError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            file = open(temporary, "wb")  # noqa: SIM115
        try:
            with file:
                for piece in pieces:
                    file.write(piece)
                size = file.tell()
            os.replace(temporary, target)
        except BaseException:
            _unlink(temporary)
            raise
        return size

    def read(self, path: str) -> bytes:
        with open(self._path(path), "rb") as file:
            return file.read()

    def size(self, path: str) -> int | None:
        try:
            return os.stat(self._path(path)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def files(self, path: str = "") -> list[str]:
        start = self._path(path)
        found = [os.path.join(folder, name) for folder, _, names in os.walk(start) for name in names]
        return sorted(os.path.relpath(file, self.uri) for file in found if not file.endswith(".tmp"))

    def delete(self, path: str) -> None:
        _unlink(self._path(path))

    def delete_tree(self, path: str = "") -> None:
        shutil.rmtree(self._path(path), ignore_errors=True)

    def child(self, path: str) -> Folder:
        return LocalFolder(self._path(path))


class RemoteFolder:
    """Files behind a ``pyarrow.fs.FileSystem``.

    Object stores show a file when it is complete. Others get it under another name first.
    """

    def __init__(self, uri: str, system: Any, path: str) -> None:
        self.uri = uri.rstrip("/")
        self._system = system
        self._root = path.rstrip("/")
        self._whole_files = type(system).__name__ in ("S3FileSystem", "GcsFileSystem", "AzureFileSystem")

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def write(self, path: str, pieces: Payload) -> int:
        target = self._path(path)
        place = target if self._whole_files else f"{target}.{uuid.uuid4().hex[:8]}.tmp"
        if not self._whole_files:
            self._system.create_dir(target.rpartition("/")[0], recursive=True)
        with self._system.open_output_stream(place) as stream:
            for piece in pieces:
                stream.write(piece)
            size: int = stream.tell()
        if place != target:
            self._system.move(place, target)
        return size

    def read(self, path: str) -> Any:
        with self._system.open_input_file(self._path(path)) as file:
            return file.read()

    def size(self, path: str) -> int | None:
        info = self._system.get_file_info(self._path(path))
        return info.size if info.type is fs.FileType.File else None

    def files(self, path: str = "") -> list[str]:
        selector = fs.FileSelector(self._path(path), allow_not_found=True, recursive=True)
        prefix = len(self._root.lstrip("/")) + 1
        found = [info.path for info in self._system.get_file_info(selector) if info.type is fs.FileType.File]
        return sorted(file.lstrip("/")[prefix:] for file in found if not file.endswith(".tmp"))

    def delete(self, path: str) -> None:
        try:
            self._system.delete_file(self._path(path))
        except FileNotFoundError:
            return

    def delete_tree(self, path: str = "") -> None:
        try:
            self._system.delete_dir(self._path(path))
        except FileNotFoundError:
            return

    def child(self, path: str) -> Folder:
        return RemoteFolder(f"{self.uri}/{path}", self._system, self._path(path))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
