"""What a task has collected for the program: little travels in its acknowledgement, much goes through files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

INLINE_BYTES = 256 * 1024
"""The most that travels in an acknowledgement: those of all tasks go through one action of Spark."""
FILE_BYTES = 8 * 1024 * 1024
"""A task that has gathered so much writes it into a file, before the epoch ends."""


@dataclass(frozen=True)
class ResultFile:
    """Parts that lie in a file, one after the other."""

    path: str
    parts: tuple[tuple[int, int], ...]
    """of each: bytes, CRC-32"""


Result = bytes | ResultFile
"""A pickled list of values, or a file of many"""


def parts_of(results: Iterable[Result]) -> Iterator[bytes]:
    """The parts where there are no files."""
    for result in results:
        assert isinstance(result, bytes), f"nobody has said where {result} is"
        yield result


class ResultFiles(Protocol):
    """Where one run of a task puts them; the driver reads there what the run that it has heard of names."""

    def write(self, parts: Sequence[bytes]) -> ResultFile: ...


class Results:
    """Gathers the results of one operator in an epoch, in their order."""

    def __init__(self, files: ResultFiles | None) -> None:
        """:param files: None: there is no place that the driver sees, so all travels in the acknowledgement."""
        self._files = files
        self._done: list[Result] = []
        self._parts: list[bytes] = []
        self._size = 0
        """bytes of the parts"""

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size >= FILE_BYTES:
            self._write()

    def _write(self) -> None:
        if self._files is not None:
            self._done.append(self._files.write(self._parts))
            self._parts, self._size = [], 0

    def __len__(self) -> int:
        """How many there are to take, about."""
        return len(self._done) + len(self._parts)

    def take(self) -> tuple[Result, ...]:
        """All of them."""
        if self._size > INLINE_BYTES:
            self._write()
        results, self._done, self._parts, self._size = (*self._done, *self._parts), [], [], 0
        return results
