"""Ranges of numbers as splits: the core of the collection, number sequence and generator sources."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from millrace.common.source import InputStatus, ReaderOutput, SourceReader

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


class RangeReader(SourceReader[int, RangeSplit]):
    """Emits the numbers of its splits, one split after the other."""

    def __init__(self, max_records: int | None = None) -> None:
        self._batch = min(BATCH, max_records or BATCH)
        self._splits: deque[RangeSplit] = deque()
        self._no_more_splits = False

    def add_splits(self, splits: Sequence[RangeSplit]) -> None:
        self._splits.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def poll_next(self, output: ReaderOutput[int]) -> InputStatus:
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        split = self._splits[0]
        end = min(split.position + self._batch, split.stop)
        output.collect_batch(list(range(split.position, end)))
        if end < split.stop:
            self._splits[0] = replace(split, position=end)
        else:
            self._splits.popleft()
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[RangeSplit]:
        return list(self._splits)
