"""Writing a store: when there are enough elements, after a while, and at the end of each epoch."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.patience import Patience

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Buffering:
    """When rows are written before the epoch ends, and how often that is tried."""

    max_rows: int = 50_000
    """0: as many as an epoch has"""
    interval: float = 1.0
    """seconds that a row waits; 0: for ever"""
    retries: int = 3
    pause: float = 1.0
    """seconds before the first repetition; each later one waits that much longer"""
    max_bytes: int = 0
    """as the sink weighs its elements; 0: as many as there are"""

    def patience(self, context: WriterInitContext) -> Patience:
        """That of a writer with rows."""
        return Patience(context.current_processing_time, self.interval * 1000 or None)


class Reachable(ABC):
    """A way to a store, which travels into tasks."""

    @abstractmethod
    def __call__(self) -> Any:
        """A new connection, which has ``close()``."""

    @abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Whether the same may work a moment later."""

    def commit(self, connection: Any) -> None:
        """What was done with the connection is to stay. Stores without transactions have nothing to do."""


class BufferedSink(Sink[T], Generic[T]):
    """**At least once**: what was written in an epoch that failed is written again. Where each element replaces the row
    of its key that changes nothing in the end.

    :param size: how many rows an element is.
    :param weight: how many bytes an element is, for ``Buffering.max_bytes``.
    """

    def __init__(
        self,
        store: Reachable,
        change: Change[T],
        buffering: Buffering,
        size: Callable[[T], int],
        weight: Callable[[T], int] | None = None,
    ) -> None:
        self._store = store
        self._change = change
        self._buffering = buffering
        self._size = size
        self._weight = weight

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        buffering = self._buffering
        retrying, patience = Retrying(self._store, buffering), buffering.patience(context)
        return _Writer(retrying, self._change, buffering, patience, self._size, self._weight)


class _Writer(SinkWriter[T]):
    def __init__(
        self,
        retrying: Retrying,
        change: Change[T],
        buffering: Buffering,
        patience: Patience,
        size: Callable[[T], int],
        weight: Callable[[T], int] | None,
    ) -> None:
        self._retrying = retrying
        self._change = change
        self._buffering = buffering
        self._patience = patience
        self._size = size
        self._weight = weight
        self._waiting: list[T] = []
        self._count = 0
        self._bytes = 0

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting.append(element)
        self._count += self._size(element)
        if self._weight is not None:
            self._bytes += self._weight(element)
        settings = self._buffering
        if (
            (settings.max_rows and self._count >= settings.max_rows)
            or (settings.max_bytes and self._bytes >= settings.max_bytes)
            or self._patience.is_over()
        ):
            self._apply()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._apply()

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._apply()

    def _apply(self) -> None:
        waiting, self._waiting, self._count, self._bytes = self._waiting, [], 0, 0
        self._patience.end()
        self._retrying.run(lambda connection: self._change.apply(connection, waiting))

    def close(self) -> None:
        self._retrying.close()


class Retrying:
    """A connection that is replaced when it is lost. Each piece of work is one transaction, or may come again without
    harm."""

    def __init__(self, store: Reachable, buffering: Buffering) -> None:
        self._store = store
        self._buffering = buffering
        self._connection: Any = None

    def run(self, work: Callable[[Any], Any]) -> Any:
        """What ``work`` gives, committed."""
        settings = self._buffering
        for attempt in range(settings.retries + 1):
            try:
                if self._connection is None:
                    self._connection = self._store()
                result = work(self._connection)
                self._store.commit(self._connection)
                return result
            except Exception as error:
                self.close()  # which takes back what was not committed
                if attempt == settings.retries or not self._may_pass(error):
                    raise
                logger.warning("%s; trying again", error)
                time.sleep(settings.pause * (attempt + 1))
        raise AssertionError("not reached")

    def _may_pass(self, error: BaseException) -> bool:
        passing = getattr(error, "passing", None)
        return bool(passing) if passing is not None else self._store.is_passing(error)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
