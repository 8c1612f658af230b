"""``NumberSequenceSource``: the integers from ``start`` to ``end``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.common.typeinfo import Types
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.connectors.ranges import RangeReader, RangeSplit, range_splits

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int, RangeSplit]):
    """The integers from ``start`` to ``end``, both included, as one contiguous part a subtask.

    The numbers are in order inside a subtask; with parallelism 1 they are in order altogether.

        >>> source = NumberSequenceSource(1, 3)
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").execute_and_collect())
        [1, 2, 3]

    :raises ValueError: if ``start`` is greater than ``end``.
    """

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ValueError(f"a number sequence needs start <= end, got start={start}, end={end}")
        self._start = start
        self._end = end

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[RangeSplit], checkpoint: Sequence[RangeSplit] | None = None
    ) -> QueueEnumerator[RangeSplit]:
        if checkpoint is None:
            checkpoint = range_splits(self._start, self._end + 1, context.current_parallelism())
        return QueueEnumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> RangeReader:
        return RangeReader(context.max_records)

    def get_produced_type(self) -> Any:
        return Types.LONG()

    def __repr__(self) -> str:
        return f"NumberSequenceSource({self._start}, {self._end})"
