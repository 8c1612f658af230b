"""Files of which parts can be asked for, as Python's own, for libraries that want one."""

from __future__ import annotations

import io
from abc import abstractmethod
from typing import Any


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
        """So many bytes from there on; fewer at the end."""

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
