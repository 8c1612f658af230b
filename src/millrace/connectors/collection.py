"""``CollectionSource``: a list of the user's program as a source."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from millrace.common.source import (
    Boundedness,
    ReaderOutput,
    Source,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.connectors.queue_reader import QueueReader
from millrace.connectors.ranges import BATCH, split_range
from millrace.util.by_value import pickled_by_value

__all__ = ["CollectionSource", "CollectionSplit"]

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

    def __init__(self, values: Iterable[T], type_info: Any = None) -> None:
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

    def get_produced_type(self) -> Any:
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
