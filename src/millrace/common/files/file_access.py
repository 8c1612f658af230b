"""Reading files: as Python's own file object of which parts can be asked for, for libraries that want one; how large
one record may be (a small compressed file can hold a line, or a block, that fills the memory); and files that the
program registered under a name, as its tasks find them (Flink's ``DistributedCache``, which PyFlink has not in
Python).
"""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from millrace.common.config_values import to_bytes_count

# Parts of files


class PositionedFile(io.RawIOBase):
    """A file that is read from where it stands.

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
    """Bytes of a line, or of a decompressed block of Avro, at most.

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
    """The words for it."""
    return f"{what} is larger than {limit} bytes (the environment variable {VARIABLE} of the workers raises the limit)"


# Registered files


class DistributedCache:
    """What ``RuntimeContext.get_distributed_cache()`` gives."""

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
