"""Open files of a checkpoint storage, and folders in a storage that a user has written.

A reader requests parts of a ``StoredFile``. A user's own storage (``CheckpointFiles``) has URIs
``plugin://package.module:Class/location``, by which any process can open it: ``-s`` and ``millrace state`` accept them
like others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, Protocol

from millrace.common.files.file_access import PositionedFile
from millrace.common.state.storage import SCHEME, CheckpointFiles
from millrace.util.names import load_class


class StoredFile(Protocol):
    """An open file; a context manager that closes it."""

    size: int
    """size in bytes"""

    def read(self, begin: int, length: int) -> Any:
        """``length`` bytes from position ``begin`` on, or fewer at the end of the file."""

    def close(self) -> None: ...

    def __enter__(self) -> StoredFile: ...

    def __exit__(self, *error: object) -> None: ...


class LocalFile:
    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._handle).st_size

    def read(self, begin: int, length: int) -> bytes:
        content = os.pread(self._handle, length, begin)
        if len(content) == length or begin + len(content) >= self.size:
            return content
        parts, place = [content], begin + len(content)  # one call gives 2 GiB at most
        while place < min(begin + length, self.size):
            parts.append(os.pread(self._handle, begin + length - place, place))
            place += len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        os.close(self._handle)

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteFile:
    """A file of pyarrow. :param file: a random access file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.size: int = file.size()

    def read(self, begin: int, length: int) -> bytes:
        content: bytes = self._file.read_at(length, begin)
        return content

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class PartsFile:
    """A file whose parts are read by a function.

    :param read_range: (begin, length) -> bytes.
    """

    def __init__(self, size: int, read_range: Callable[[int, int], bytes]) -> None:
        self.size = size
        self._read_range = read_range

    def read(self, begin: int, length: int) -> bytes:
        return self._read_range(begin, length)

    def close(self) -> None:
        """Does nothing: no file is open."""

    def __enter__(self) -> PartsFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Seekable(PositionedFile):
    """A stored file as a Python file object, for libraries that need one."""

    def __init__(self, file: StoredFile) -> None:
        super().__init__(file.size)
        self._file = file

    def read_at(self, size: int, offset: int) -> Any:
        return self._file.read(offset, size)


_URI = re.compile(SCHEME + r"(?P<cls>[^/]+)(?:/(?P<location>.*))?", re.DOTALL)
OPENED = 16
"""number of storages that a process keeps open"""


def open_own(uri: str) -> OwnFolder:
    """The folder behind a URI.

    :raises ValueError: there is no such class, or it does not accept the location.
    :raises TypeError: the class is no ``CheckpointFiles``.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri}: a storage of your own is {SCHEME}package.module:Class/location")
    cls = load_class(match["cls"], CheckpointFiles, uri)  # type: ignore[type-abstract]
    return OwnFolder(uri.rstrip("/"), _opened(cls, (match["location"] or "").rstrip("/")), "")


class OwnFolder:
    """A ``Folder`` in a storage: the files below a prefix of its paths."""

    def __init__(self, uri: str, files: CheckpointFiles, prefix: str) -> None:
        self.uri = uri
        self._files = files
        self._prefix = prefix

    def _path(self, path: str) -> str:
        return f"{self._prefix}{path}" if path else self._prefix.rstrip("/")

    def write(self, path: str, pieces: Iterable[Any]) -> int:
        counted = _Counted(pieces)
        self._files.write(self._path(path), counted)
        return counted.size

    def write_new(self, path: str, content: bytes) -> int:
        if self.size(path) is not None:
            if self.read(path) != content:
                raise FileExistsError(f"{self.uri}/{path} is there already")
            return len(content)
        return self.write(path, [content])

    def read(self, path: str) -> bytes:
        return self._files.read(self._path(path))

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        return self._files.read_range(self._path(path), begin, length)

    def open(self, path: str) -> StoredFile:
        size = self.size(path)
        if size is None:
            raise FileNotFoundError(f"{self.uri}/{path}")
        return PartsFile(size, partial(self.read_range, path))

    def size(self, path: str) -> int | None:
        return self._files.size(self._path(path))

    def age(self, path: str) -> float | None:
        return None

    def sizes(self, path: str = "") -> dict[str, int]:
        found = {file: self.size(file) for file in self.files(path)}
        return {file: size for file, size in found.items() if size is not None}

    def persist(self, paths: Iterable[str]) -> None:
        """Does nothing: by its contract a storage makes files survive."""

    def sweep(self) -> None:
        """Does nothing: the storage itself has to delete what killed processes left."""

    def files(self, path: str = "") -> list[str]:
        return sorted(file[len(self._prefix) :] for file in self._files.files(self._path(path)))

    def delete(self, path: str) -> None:
        self._files.delete(self._path(path))

    def delete_tree(self, path: str = "") -> None:
        self._files.delete_below(self._path(path))

    def child(self, path: str) -> OwnFolder:
        return OwnFolder(f"{self.uri}/{path}", self._files, f"{self._prefix}{path}/")


class _Counted:
    """Counts the bytes of the pieces that are taken from it."""

    def __init__(self, pieces: Iterable[Any]) -> None:
        self._pieces = pieces
        self.size = 0

    def __iter__(self) -> Iterator[Any]:
        for piece in self._pieces:
            self.size += memoryview(piece).nbytes
            yield piece


@lru_cache(maxsize=OPENED)
def _opened(cls: type[CheckpointFiles], location: str) -> CheckpointFiles:
    try:
        return cls(location)
    except Exception as error:
        raise ValueError(
            f"checkpoint storage {cls.__qualname__} can't be opened at {location!r}: {type(error).__name__}: {error}"
        ) from error
