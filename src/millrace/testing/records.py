"""What an operator under test puts out, in a form that assertions can compare."""

from __future__ import annotations

from typing import Any, NamedTuple

from millrace.runtime.elements import Chunk, Status

__all__ = ["Captured", "Item", "Record", "Status", "Watermark"]


class Record(NamedTuple):
    """An element, with its timestamp (ms) or None.

        >>> Record("a", 1000).timestamp
        1000
    """

    value: Any
    timestamp: int | None = None


class Watermark(NamedTuple):
    """A watermark (ms).

        >>> Watermark(1000)
        Watermark(timestamp=1000)
    """

    timestamp: int


Item = Record | Watermark | Status


class Captured:
    """The ``Output`` of the operator under test: keeps everything in order."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.sides: dict[str, list[Record]] = {}

    def emit(self, chunk: Chunk) -> None:
        self.items.extend(records(chunk))

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        self.sides.setdefault(tag, []).extend(records(chunk))

    def mark(self, mark: int | Status) -> None:
        self.items.append(mark if isinstance(mark, Status) else Watermark(mark))


def records(chunk: Chunk) -> list[Record]:
    """The elements of a chunk one by one."""
    if chunk.timestamps is None:
        return [Record(value) for value in chunk.values]
    return [Record(value, timestamp) for value, timestamp in zip(chunk.values, chunk.timestamps)]
