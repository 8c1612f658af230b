"""``PartsSource``: what is there now, read once, in one part or several side by side."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from millrace.common.source import Boundedness, ReaderOutput, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.connectors.queue_reader import QueueReader

T = TypeVar("T")
PartT = TypeVar("PartT")


class PartsSource(Source[T, PartT], Generic[T, PartT]):
    """Reads the parts of a store. One is read in one epoch: elements without an order have no place to go on from."""

    @abstractmethod
    def parts(self) -> Sequence[PartT]:
        """All parts; asked once, on the driver. Each has a ``split_id``."""

    @abstractmethod
    def elements(self, part: PartT) -> Iterator[T]:
        """The elements of a part; called in tasks."""

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[PartT], checkpoint: Sequence[PartT] | None = None
    ) -> QueueEnumerator[PartT]:
        return QueueEnumerator(context, self.parts() if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> PartsReader[T, PartT]:
        return PartsReader(self)


class PartsReader(QueueReader[T, PartT], Generic[T, PartT]):
    """Reads one part after the other."""

    def __init__(self, source: PartsSource[T, PartT]) -> None:
        super().__init__()
        self._source = source

    def read(self, split: PartT, output: ReaderOutput[T]) -> None:
        for element in self._source.elements(split):
            output.collect(element)
