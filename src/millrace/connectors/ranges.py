"""Ranges of numbers as splits: the core of the collection, number sequence and generator sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from millrace.common.source import ReaderOutput
from millrace.connectors.queue_reader import QueueReader

BATCH = 8192
"""Elements that a reader emits in one go."""


@dataclass(frozen=True)
class RangeSplit:
    """The numbers ``position, ..., stop - 1`` that are still to be read."""

    split_id: str
    position: int
    stop: int


def split_range(start: int, stop: int, parts: int) -> list[range]:
    """Cut ``start, ..., stop - 1`` into at most ``parts`` contiguous ranges, none empty, the longer ones first."""
    size, longer = divmod(max(stop - start, 0), parts)
    ranges = []
    for index in range(parts):
        end = start + size + (index < longer)
        if end > start:
            ranges.append(range(start, end))
        start = end
    return ranges


def range_splits(start: int, stop: int, parts: int) -> list[RangeSplit]:
    """As ``split_range``, as splits."""
    return [RangeSplit(str(n), r.start, r.stop) for n, r in enumerate(split_range(start, stop, parts))]


class RangeReader(QueueReader[int, RangeSplit]):
    """Emits the numbers of its splits, one split after the other."""

    def __init__(self, most: Callable[[], int | None]) -> None:
        """:param most: how many elements to emit at once, None for any number."""
        super().__init__()
        self._most = most

    def read(self, split: RangeSplit, output: ReaderOutput[int]) -> RangeSplit | None:
        end = min(split.position + min(BATCH, self._most() or BATCH), split.stop)
        output.collect_batch(list(range(split.position, end)))
        return replace(split, position=end) if end < split.stop else None
