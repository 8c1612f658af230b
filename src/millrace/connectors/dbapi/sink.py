"""``DbApiSink``: what comes to a subtask within 100 ms, or in an epoch, is one transaction of a database."""

from __future__ import annotations

from typing import Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.connection import Connect, open_connection
from millrace.connectors.kept_connection import KeptConnection
from millrace.connectors.patience import WAIT_MS, Patience

__all__ = ["DbApiSink"]

T = TypeVar("T")


class DbApiSink(Sink[T], Generic[T]):
    """Writes in the task, at the end of each epoch and when an element has waited long enough. **At least once**: an
    epoch that fails after a subtask has written is written again. With ``DbApiUpsert`` that changes nothing once the
    repetition is through, as long as the changes of a key stay in order: let the stream be keyed the same way, or have
    parallelism 1.

    :param connect: opens a connection, called in the tasks. It stays open from epoch to epoch; one that fails at the
        first statement of a transaction, because the database has closed it meanwhile, is replaced once.
    :param change: ``DbApiInsert`` or ``DbApiUpsert``.
    :param batch_size: elements that are handed to the driver together.
    :param wait_ms: how long an element waits within an epoch until what is there is committed; None: until the epoch
        ends, so that all of an epoch that a subtask has is one transaction.
    """

    def __init__(
        self, connect: Connect, change: Change[T], batch_size: int = 10_000, wait_ms: int | None = WAIT_MS
    ) -> None:
        self._connect = connect
        self._change = change
        self._batch_size = batch_size
        self._wait_ms = wait_ms

    def create_writer(self, context: WriterInitContext) -> _DbApiWriter[T]:
        patience = Patience(context.current_processing_time, self._wait_ms)
        return _DbApiWriter(self._connect, self._change, self._batch_size, patience)

    def __repr__(self) -> str:
        return f"DbApiSink({self._change!r})"


class _DbApiWriter(SinkWriter[T]):
    def __init__(self, connect: Connect, change: Change[T], batch_size: int, patience: Patience) -> None:
        self._kept = KeptConnection(lambda: open_connection(connect))
        self._change = change
        self._batch_size = batch_size
        self._batch: list[T] = []
        self._patience = patience

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._batch.append(element)
        if len(self._batch) >= self._batch_size:
            self._apply()

    def _apply(self) -> None:
        batch, self._batch = self._batch, []
        self._kept.use(lambda connection: self._change.apply(connection, batch))

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._commit()

    def flush(self, end_of_input: bool) -> None:
        self._commit()

    def _commit(self) -> None:
        if self._batch:
            self._apply()
        self._patience.end()
        connection = self._kept.settled()
        if connection is not None:
            connection.commit()

    def close(self) -> None:
        self._kept.close()  # which takes back what was not committed
