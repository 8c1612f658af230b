"""Sources without a system: a list of the program, a sequence of numbers, elements that a function makes from their
index.

All three cut a range of indexes into splits. ``DataGeneratorSource`` is Flink's class, which PyFlink lacks.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.source_base import (
    BATCH,
    QueueEnumerator,
    QueueReader,
    RangeReader,
    RangeSplit,
    range_splits,
    split_range,
)
from millrace.util.by_value import pickled_by_value

T = TypeVar("T")


@dataclass(frozen=True)
class CollectionSplit:
    """A contiguous part of the collection, pickled once, and how many of its values are already read."""

    split_id: str
    payload: bytes = field(repr=False)
    position: int = 0


class CollectionSource(Source[T, CollectionSplit], Generic[T]):
    """The values of a list: one contiguous part a subtask, in order inside a subtask.

    :param values: the elements; they travel inside the splits, pickled by value (classes of the main script too).
    :param type_info: the elements' type, if the program gave one.
    """

    def __init__(self, values: Iterable[T], type_info: TypeInformation | None = None) -> None:
        self._values: list[T] | None = list(values)
        self._type_info = type_info

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[CollectionSplit], checkpoint: Sequence[CollectionSplit] | None = None
    ) -> QueueEnumerator[CollectionSplit]:
        if checkpoint is None:
            values = self._values
            if values is None:
                raise RuntimeError("this copy of the source was made for the tasks (for_readers) and has no values")
            checkpoint = [
                CollectionSplit(str(n), pickled_by_value(values[part.start : part.stop]))
                for n, part in enumerate(split_range(0, len(values), context.current_parallelism()))
            ]
        return QueueEnumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> CollectionReader[T]:
        return CollectionReader(context.max_records)

    def for_readers(self) -> CollectionSource[T]:
        """A copy without the values: what a task needs, since the splits carry them."""
        light: CollectionSource[T] = CollectionSource((), self._type_info)
        light._values = None
        return light

    def get_produced_type(self) -> TypeInformation | None:
        return self._type_info


class CollectionReader(QueueReader[T, CollectionSplit]):
    """Emits the values of its splits, one split after the other."""

    def __init__(self, most: Callable[[], int | None]) -> None:
        """:param most: how many elements to emit at once, None for any number."""
        super().__init__()
        self._most = most
        self._values: list[T] | None = None

    def read(self, split: CollectionSplit, output: ReaderOutput[T]) -> CollectionSplit | None:
        if self._values is None:
            self._values = pickle.loads(split.payload)
        end = split.position + min(BATCH, self._most() or BATCH)
        output.collect_batch(self._values[split.position : end])
        if end < len(self._values):
            return replace(split, position=end)
        self._values = None
        return None


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

    def get_produced_type(self) -> TypeInformation | None:
        return Types.LONG()

    def __repr__(self) -> str:
        return f"NumberSequenceSource({self._start}, {self._end})"


MAX_CATCH_UP_MS = 300_000
"""After a longer pause (a job that stood still) only this much of the missed time is made up for."""


class GeneratorFunction(ABC, Generic[T]):
    """Makes the element for an index; use it instead of a plain function when there is something to open.

    >>> class Names(GeneratorFunction):
    ...     def map(self, index):
    ...         return f"user-{index}"
    >>> Names().map(7)
    'user-7'
    """

    def open(self, context: SourceReaderContext) -> None:
        """Called once per reader, before the first ``map``."""

    @abstractmethod
    def map(self, index: int) -> T:
        """The element with this index."""

    def close(self) -> None:
        """Called at the end of the reader."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """A limit over all subtasks together; make one with ``no_op``, ``per_second`` or ``per_checkpoint``.

    >>> source = DataGeneratorSource(lambda index: index, 10, RateLimiterStrategy.per_second(100), Types.LONG())
    """

    events_per_second: float | None = None
    events_per_checkpoint: int | None = None

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as possible."""
        return RateLimiterStrategy()

    @staticmethod
    def per_second(events: float) -> RateLimiterStrategy:
        """At most ``events`` elements a second (may be below 1).

        :raises ValueError: if ``events`` is not positive.
        """
        if events <= 0:
            raise ValueError(f"per_second needs a positive number of events, got {events}")
        return RateLimiterStrategy(events_per_second=float(events))

    @staticmethod
    def per_checkpoint(events: int) -> RateLimiterStrategy:
        """At most ``events`` elements between two checkpoints (epochs).

        :raises ValueError: if ``events`` is not positive.
        """
        if events <= 0:
            raise ValueError(f"per_checkpoint needs a positive number of events, got {events}")
        return RateLimiterStrategy(events_per_checkpoint=int(events))


@dataclass(frozen=True)
class GeneratorSplit:
    """The indexes ``position, position + step, ...`` below ``stop`` (None: without end) and its share of the rate."""

    split_id: str
    position: int
    stop: int | None
    step: int = 1
    per_second: float | None = None
    per_epoch: int | None = None
    anchor_time: int | None = None
    """When counting for the rate began, ms; None before the first poll."""
    anchor_position: int = 0
    last_poll: int = 0


class DataGeneratorSource(Source[T, GeneratorSplit], Generic[T]):
    """``generator_function(index)`` for the indexes 0 to ``count`` - 1, or without end when ``count`` is None.

    A bounded source gives each subtask a contiguous range of indexes; an unbounded one with n subtasks every n-th.

        >>> class Squares(GeneratorFunction):
        ...     def map(self, index):
        ...         return index * index
        >>> source = DataGeneratorSource(Squares(), 4, RateLimiterStrategy.no_op(), Types.LONG())
        >>> list(env.from_source(source, WatermarkStrategy.no_watermarks(), "squares").execute_and_collect())
        [0, 1, 4, 9]

    :param generator_function: a function of the index, or a ``GeneratorFunction``.
    :param rate_limiter_strategy: the limit over all subtasks; with one, a reader emits per epoch what is due.
    :param at_once: elements that are made before any of them goes on; less where an element is large.
    :raises ValueError: if ``count`` is negative.
    """

    def __init__(
        self,
        generator_function: Callable[[int], T] | GeneratorFunction[T],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | None = None,
        at_once: int = BATCH,
    ) -> None:
        if count is not None and count < 0:
            raise ValueError(f"count must not be negative, got {count}")
        self._function = generator_function
        self._count = count
        self._rate = rate_limiter_strategy or RateLimiterStrategy.no_op()
        self._type_info = type_info
        self._at_once = at_once

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._count is not None else Boundedness.CONTINUOUS_UNBOUNDED

    def arrives_over_time(self) -> bool:
        return self._rate.events_per_second is not None

    def create_enumerator(
        self, context: SplitEnumeratorContext[GeneratorSplit], checkpoint: Sequence[GeneratorSplit] | None = None
    ) -> QueueEnumerator[GeneratorSplit]:
        return QueueEnumerator(context, self._plan(context.current_parallelism()) if checkpoint is None else checkpoint)

    def _plan(self, parallelism: int) -> list[GeneratorSplit]:
        if self._count is None:
            splits = [GeneratorSplit(str(n), n, None, parallelism) for n in range(parallelism)]
        else:
            ranges = split_range(0, self._count, parallelism)
            splits = [GeneratorSplit(str(n), part.start, part.stop) for n, part in enumerate(ranges)]
        if self._rate.events_per_second is not None:
            share = self._rate.events_per_second / max(len(splits), 1)
            splits = [replace(split, per_second=share) for split in splits]
        elif self._rate.events_per_checkpoint is not None:
            quotas = split_range(0, self._rate.events_per_checkpoint, max(len(splits), 1))
            if len(quotas) < len(splits):
                raise ValueError(
                    f"per_checkpoint({self._rate.events_per_checkpoint}) leaves nothing for some of {len(splits)} "
                    "subtasks: raise it or lower the parallelism"
                )
            splits = [replace(split, per_epoch=len(quota)) for split, quota in zip(splits, quotas, strict=True)]
        return splits

    def create_reader(self, context: SourceReaderContext) -> GeneratorReader[T]:
        return GeneratorReader(self._function, context, self._at_once)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type_info


class GeneratorReader(SourceReader[T, GeneratorSplit]):
    """Emits what is due of its splits, in turn."""

    def __init__(
        self, function: Callable[[int], T] | GeneratorFunction[T], context: SourceReaderContext, at_once: int = BATCH
    ) -> None:
        self._function = function
        self._make: Callable[[int], T] = function.map if isinstance(function, GeneratorFunction) else function
        self._context = context
        self._at_once = at_once
        self._splits: deque[GeneratorSplit] = deque()
        self._emitted: dict[str, int] = {}
        self._no_more_splits = False

    def start(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.open(self._context)

    def close(self) -> None:
        if isinstance(self._function, GeneratorFunction):
            self._function.close()

    def add_splits(self, splits: Sequence[GeneratorSplit]) -> None:
        self._splits.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        most = min(self._at_once, self._context.max_records() or self._at_once)
        for _ in range(len(self._splits)):
            split, allowed = self._due(self._splits.popleft())
            end = split.position + min(allowed, most) * split.step
            if split.stop is not None:
                end = min(end, split.stop)
            numbers = range(split.position, end, split.step)
            if numbers:
                self._emitted[split.split_id] = self._emitted.get(split.split_id, 0) + len(numbers)
                output.create_output_for_split(split.split_id).collect_batch(list(map(self._make, numbers)))
            if split.stop is None or end < split.stop:
                self._splits.append(replace(split, position=end))
            else:
                output.release_output_for_split(split.split_id)
            if numbers:
                return InputStatus.MORE_AVAILABLE
        done = self._no_more_splits and not self._splits
        return InputStatus.END_OF_INPUT if done else InputStatus.NOTHING_AVAILABLE

    def _due(self, split: GeneratorSplit) -> tuple[GeneratorSplit, int]:
        """How many elements the split may emit now; and the split with the clock's reading noted."""
        if split.per_epoch is not None:
            return split, max(split.per_epoch - self._emitted.get(split.split_id, 0), 0)
        if split.per_second is None:
            return split, BATCH
        now = self._context.current_processing_time()
        if split.anchor_time is None:
            split = replace(split, anchor_time=now, anchor_position=split.position, last_poll=now)
        anchor = split.anchor_time if split.anchor_time is not None else now
        anchor += max(now - split.last_poll - MAX_CATCH_UP_MS, 0)
        split = replace(split, anchor_time=anchor, last_poll=max(now, split.last_poll))
        emitted = (split.position - split.anchor_position) // split.step
        return split, max(int((now - anchor) * (split.per_second or 0.0) / 1000) - emitted, 0)

    def snapshot_state(self, checkpoint_id: int) -> list[GeneratorSplit]:
        self._emitted.clear()
        return list(self._splits)
