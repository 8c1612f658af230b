"""A source of numbered records: a fixed number of splits, whatever the parallelism, and so many records per epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)


class Numbered(NamedTuple):
    """The ``number``-th record of a split; both count from 0."""

    split: int
    number: int


@dataclass(frozen=True)
class NumberedSplit:
    split: int
    position: int = 0


def timestamp(record: Numbered) -> int:
    """Event time in ms: a step of 10 ms from one record to the next, and a pause after every 25."""
    return record.number * 10 + record.number // 25 * 500 + record.split


class NumberedSource(Source[Numbered, NumberedSplit]):
    """``records`` of each of ``splits`` splits, ``per_epoch`` of each in one epoch, so that all advance together.

    It ends, but it says that it is unbounded: the job is one of Structured Streaming.
    """

    def __init__(self, splits: int, records: int, per_epoch: int) -> None:
        self.splits = splits
        self.records = records
        self.per_epoch = per_epoch

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[NumberedSplit], checkpoint: Any = None) -> _Enumerator:
        splits = [NumberedSplit(split) for split in range(self.splits)] if checkpoint is None else checkpoint
        return _Enumerator(context, splits)

    def create_reader(self, context: SourceReaderContext) -> _Reader:
        return _Reader(self)


class _Enumerator(SplitEnumerator[NumberedSplit]):
    """Spreads the splits evenly, also those of readers that a rescale has taken away."""

    def __init__(self, context: SplitEnumeratorContext[NumberedSplit], splits: Sequence[NumberedSplit]) -> None:
        self._context = context
        self._waiting = list(splits)

    def handle_split_request(self, subtask_id: int) -> None:
        width = self._context.current_parallelism()
        mine = [split for split in self._waiting if split.split % width == subtask_id]
        self._waiting = [split for split in self._waiting if split not in mine]
        for split in mine:
            self._context.assign_split(split, subtask_id)
        self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[NumberedSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> list[NumberedSplit]:
        return self._waiting


class _Reader(SourceReader[Numbered, NumberedSplit]):
    def __init__(self, source: NumberedSource) -> None:
        self._source = source
        self._splits: list[NumberedSplit] = []
        self._no_more_splits = False
        self._has_given = False
        """whether this epoch has its records"""

    def add_splits(self, splits: Sequence[NumberedSplit]) -> None:
        self._splits += splits

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def poll_next(self, output: ReaderOutput[Numbered]) -> InputStatus:
        if self._has_given and self._splits:
            return InputStatus.NOTHING_AVAILABLE
        source = self._source
        self._has_given = True
        records = []
        for index, split in enumerate(self._splits):
            end = min(split.position + source.per_epoch, source.records)
            records += [Numbered(split.split, number) for number in range(split.position, end)]
            self._splits[index] = replace(split, position=end)
        records.sort(key=timestamp)
        output.collect_batch(records, [timestamp(record) for record in records])
        self._splits = [split for split in self._splits if split.position < source.records]
        done = self._no_more_splits and not self._splits
        return InputStatus.END_OF_INPUT if done else InputStatus.NOTHING_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[NumberedSplit]:
        self._has_given = False
        return self._splits
