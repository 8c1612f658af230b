"""``DbApiSink``: each epoch of a subtask is one transaction of a database."""

from __future__ import annotations

from typing import Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.connection import Connect, open_connection
from millrace.connectors.kept_connection import KeptConnection

__all__ = ["DbApiSink"]

T = TypeVar("T")


class DbApiSink(Sink[T], Generic[T]):
    """Writes at the end of each epoch, in the task. **At least once**: an epoch that fails after a subtask has written
    is written again. With ``DbApiUpsert`` that changes nothing once the repetition is through, as long as the changes
    of a key stay in order: let the stream be keyed the same way, or have parallelism 1.

    :param connect: opens a connection, called in the tasks. It stays open from epoch to epoch; one that fails at the
        first statement of an epoch, because the database has closed it meanwhile, is replaced once.
    :param change: ``DbApiInsert`` or ``DbApiUpsert``.
    :param batch_size: elements that are handed to the driver together.
    """

    def __init__(self, connect: Connect, change: Change[T], batch_size: int = 10_000) -> None:
        self._connect = connect
        self._change = change
        self._batch_size = batch_size

    def create_writer(self, context: WriterInitContext) -> _DbApiWriter[T]:
        return _DbApiWriter(self._connect, self._change, self._batch_size)

    def __repr__(self) -> str:
        return f"DbApiSink({self._change!r})"


class _DbApiWriter(SinkWriter[T]):
    def __init__(self, connect: Connect, change: Change[T], batch_size: int) -> None:
        self._kept = KeptConnection(lambda: open_connection(connect))
        self._change = change
        self._batch_size = batch_size
        self._batch: list[T] = []

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._batch.append(element)
        if len(self._batch) >= self._batch_size:
            self._apply()

    def _apply(self) -> None:
        batch, self._batch = self._batch, []
        self._kept.use(lambda connection: self._change.apply(connection, batch))

    def flush(self, end_of_input: bool) -> None:
        if self._batch:
            self._apply()
        connection = self._kept.end_epoch()
        if connection is not None:
            connection.commit()

    def close(self) -> None:
        self._kept.close()  # which takes back what was not committed
