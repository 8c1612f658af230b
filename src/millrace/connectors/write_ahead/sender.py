"""``BatchSender``: what a write-ahead sink needs to know about its store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from millrace.connectors.write_ahead.batch import Batch

__all__ = ["BatchSender"]

T = TypeVar("T")


class BatchSender(ABC, Generic[T]):
    """Brings batches into a store, on the driver. Made for one commit: connections don't grow old between
    checkpoints, and are used in one thread."""

    remembers = False
    """Whether ``is_sent`` answers. If so the store keeps account by itself, and the sink makes no marks."""

    @abstractmethod
    def send(self, values: Iterator[T], batch: Batch) -> None:
        """Write the values; when this returns, the store has them for good.

        A sender that remembers also writes ``batch.name``. If that is one transaction with the values, each batch is in
        the store exactly once; else it is there twice if the driver dies between the two.
        """

    def is_sent(self, batch: Batch) -> bool:
        """Whether the store has the batch, by ``batch.name``. Only asked of a sender that remembers."""
        raise TypeError(f"{type(self).__name__}.remembers is set, but it has no is_sent()")

    def close(self) -> None:
        """Release connections; called after success and after failure."""
