"""A file that is open for reading, of which parts are wanted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from millrace.common.files.stores.positions import PositionedFile

__all__ = ["LocalFile", "RemoteFile", "Seekable", "StoredFile"]


class StoredFile(Protocol):
    """An open file; a context manager, which closes it."""

    size: int
    """bytes"""

    def read(self, begin: int, length: int) -> Any:
        """So many bytes from a place on, less at the end."""

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
    """:param file: a random access file of pyarrow."""

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
    """A file of which others read parts.

    :param read_range: (begin, length) -> bytes.
    """

    def __init__(self, size: int, read_range: Callable[[int, int], bytes]) -> None:
        self.size = size
        self._read_range = read_range

    def read(self, begin: int, length: int) -> bytes:
        return self._read_range(begin, length)

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> PartsFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Seekable(PositionedFile):
    """A stored file as Python's own, for libraries that want one."""

    def __init__(self, file: StoredFile) -> None:
        super().__init__(file.size)
        self._file = file

    def read_at(self, size: int, offset: int) -> Any:
        return self._file.read(offset, size)
