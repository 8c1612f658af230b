"""Parts that sources share beside the FLIP-27 contract: an enumerator for splits that are all known from the start,
a reader of one split after the other, ranges of numbers as splits, rate limits, sources under other names."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
    split_id,
)
from millrace.common.typeinfo import TypeInformation

SplitT = TypeVar("SplitT")


class QueueEnumerator(SplitEnumerator[SplitT]):
    """Hands out a queue of splits, one a request, then signals that there are no more.

    Its snapshot is the list of splits not yet handed out.
    """

    def __init__(self, context: SplitEnumeratorContext[SplitT], splits: Iterable[SplitT]) -> None:
        self._context = context
        self._pending = deque(splits)

    def handle_split_request(self, subtask_id: int) -> None:
        if self._pending:
            self._context.assign_split(self._pending.popleft(), subtask_id)
        else:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[SplitT], subtask_id: int) -> None:
        self._pending.extendleft(reversed(splits))

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._pending)


class StandingSplits(QueueEnumerator[SplitT]):
    """An enumerator of splits that never end, such as channels and logs: a reader may have any number of them."""

    splits_end = False


T = TypeVar("T")


class QueueReader(SourceReader[T, SplitT], Generic[T, SplitT]):
    """Reads its first split until nothing is left of it. What it is at are the splits that are left."""

    def __init__(self) -> None:
        self._splits: deque[SplitT] = deque()
        self._no_more_splits = False

    @abstractmethod
    def read(self, split: SplitT, output: ReaderOutput[T]) -> SplitT | None:
        """Emit a part of a split; gives what is left of it, None for nothing."""

    def add_splits(self, splits: Sequence[SplitT]) -> None:
        self._splits.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def has_splits(self) -> bool:
        return bool(self._splits)

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        name = split_id(self._splits[0])
        left = self.read(self._splits[0], output.create_output_for_split(name))
        if left is not None:
            self._splits[0] = left
            return InputStatus.MORE_AVAILABLE
        self._splits.popleft()
        if not self._splits or split_id(self._splits[0]) != name:
            output.release_output_for_split(name)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._splits)


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
    """The parts that ``split_range`` gives, as splits."""
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


_MOST_SECONDS = 1.0
"""What was not taken in this time is not made up for."""


class Pace:
    """Limits the rate of a reader: how many records it may take now.

    :param per_second: of this reader alone.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._last, self._allowed = clock(), 0.0

    def allowed(self, most: int) -> int:
        """How many records may be taken now, at most ``most``; 0: it is too early for the next one."""
        now = self._clock()
        capacity = max(self._rate * _MOST_SECONDS, 1.0)
        self._allowed = min(self._allowed + (now - self._last) * self._rate, capacity)
        self._last = now
        return min(int(self._allowed), most)

    def take(self, count: int) -> None:
        """Note that ``count`` records were taken."""
        self._allowed -= count


class DelegatingSource(Source[Any, Any]):
    """Does what ``_source`` does."""

    @property
    @abstractmethod
    def _source(self) -> Source[Any, Any]:
        """The source, as it was set up."""

    def get_boundedness(self) -> Boundedness:
        return self._source.get_boundedness()

    def create_enumerator(self, context: SplitEnumeratorContext[Any], checkpoint: Any = None) -> Any:
        return self._source.create_enumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> Any:
        return self._source.create_reader(context)

    def get_produced_type(self) -> TypeInformation | None:
        return self._source.get_produced_type()
