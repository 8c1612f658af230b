"""``UpsertSink``: base of sinks that keep one row per key in a store, and may write it again without harm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row, RowKind
from millrace.connectors.kept_connection import KeptConnection
from millrace.connectors.patience import Patience

__all__ = ["UpsertSink", "UpsertTable", "is_deletion", "last_per_key"]

T = TypeVar("T")

_DELETIONS = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


def is_deletion(element: Any) -> bool:
    """Whether a row takes something back: by its kind, DELETE or UPDATE_BEFORE. Other elements never do.

    UPDATE_BEFORE counts, since the new row may have another key; if it has not, the UPDATE_AFTER that follows wins.
    """
    return isinstance(element, Row) and element.get_row_kind() in _DELETIONS


def last_per_key(elements: Iterable[T], key_of: Callable[[T], Hashable]) -> dict[Hashable, T]:
    """The last element of each key."""
    return {key_of(element): element for element in elements}


class UpsertTable(ABC, Generic[T]):
    """A connection to the store, in a task."""

    @abstractmethod
    def apply(self, upserts: Sequence[T], deletes: Sequence[Any]) -> None:
        """Write elements, and delete keys; no key occurs twice. When this returns, the store has it for good."""

    def close(self) -> None:
        """Release the connection; called after success and after failure."""


class UpsertSink(Sink[T], Generic[T]):
    """Writes the last element of each key at the end of an epoch, and within it when one has waited for 100 ms. Let the
    stream be keyed the same way, or have parallelism 1: only then do changes of a key keep their order.

    An epoch that is repeated after a failure writes the same keys again. Once it is through, the store holds what it
    would hold without the failure; meanwhile a key may go back to an older value.

    :param batch_size: write at once when so many keys have changed.
    """

    def __init__(self, batch_size: int = 10_000) -> None:
        self._batch_size = batch_size

    @abstractmethod
    def key_of(self, element: T) -> Hashable:
        """The element's key in the store."""

    def is_deletion(self, element: T) -> bool:
        """Whether the element's key is to be deleted."""
        return is_deletion(element)

    @abstractmethod
    def open_table(self) -> UpsertTable[T]:
        """Connect to the store. The table stays open from epoch to epoch; one that fails at its first ``apply`` of an
        epoch, because the store has closed the connection meanwhile, is replaced once."""

    def create_writer(self, context: WriterInitContext) -> _UpsertWriter[T]:
        return _UpsertWriter(self, self._batch_size, Patience(context.current_processing_time))


class _UpsertWriter(SinkWriter[T]):
    def __init__(self, sink: UpsertSink[T], batch_size: int, patience: Patience) -> None:
        self._sink = sink
        self._patience = patience
        self._key_of = sink.key_of
        self._batch_size = batch_size
        self._changes: dict[Hashable, T] = {}
        self._kept = KeptConnection(sink.open_table)

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._changes[self._key_of(element)] = element
        if len(self._changes) >= self._batch_size:
            self._apply()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._write_all()

    def flush(self, end_of_input: bool) -> None:
        self._write_all()

    def _write_all(self) -> None:
        if self._changes:
            self._apply()
        self._patience.end()
        self._kept.settled()

    def _apply(self) -> None:
        changes, self._changes = self._changes, {}
        deletes = [key for key, element in changes.items() if self._sink.is_deletion(element)]
        upserts = [element for element in changes.values() if not self._sink.is_deletion(element)]
        self._kept.use(lambda table: table.apply(upserts, deletes))

    def close(self) -> None:
        self._kept.close()
