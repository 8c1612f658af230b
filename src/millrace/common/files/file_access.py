"""File access for readers: positioned reads, the largest size of a record, and the distributed cache. A small
compressed file can contain a line, or a block, that fills the memory. Flink's ``DistributedCache`` is not in
PyFlink."""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from millrace.common.configuration import to_bytes_count

# Parts of files


class PositionedFile(io.RawIOBase):
    """A file object over positioned reads, for libraries that want Python's own.

    :param length: its bytes.
    """

    mode = "rb"

    def __init__(self, length: int) -> None:
        self._length = length
        self._position = 0

    @abstractmethod
    def read_at(self, size: int, offset: int) -> Any:
        """Read up to ``size`` bytes at ``offset``; fewer at the end of the file."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._length}[whence]
        return self._position

    def read(self, size: int | None = -1) -> Any:
        left = max(0, self._length - self._position)
        content = self.read_at(left if size is None or size < 0 else min(size, left), self._position)
        self._position += len(content)
        return content

    def readinto(self, buffer: Any) -> int:
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


# Large records

VARIABLE = "MILLRACE_MAX_RECORD_SIZE"
"""The workers' environment variable with the largest size of a record, as Flink writes sizes: ``512 mb``."""
DEFAULT = 256 << 20
BEGINNING = 1 << 10
"""bytes of a too large record that its error shows"""


def record_limit() -> int:
    """Largest size of a line, or of a decompressed block of Avro (bytes).

    :raises ValueError: the variable has no size.
    """
    said = os.environ.get(VARIABLE)
    if not said:
        return DEFAULT
    try:
        return to_bytes_count(said)
    except ValueError as error:
        raise ValueError(f"the environment variable {VARIABLE}: {error}") from error


def too_large(what: str, limit: int) -> str:
    """The error text of a record that is too large."""
    return f"{what} is larger than {limit} bytes (the environment variable {VARIABLE} of the workers raises the limit)"


# Registered files


class DistributedCache:
    """The result of ``RuntimeContext.get_distributed_cache()``: files that the program registered, by name."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """``files``: name -> path on this machine."""
        self._files = files

    def get_file(self, name: str) -> str:
        """The path of a file or folder on this machine: read it, but don't change it.

        :raises KeyError: nothing was registered under this name.
        """
        try:
            return self._files[name]
        except KeyError:
            known = ", ".join(sorted(self._files)) or "none"
            raise KeyError(
                f"no cached file {name!r}: env.register_cached_file(path, {name!r}) registers one; there are: {known}"
            ) from None
