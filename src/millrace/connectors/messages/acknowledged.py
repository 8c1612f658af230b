"""Reading queues that keep a message until it is acknowledged, and deliver it again otherwise.

A message is acknowledged once the checkpoint that covers it is recorded. Where messages have ids of their own, those
that a checkpoint covers and that are not known to be acknowledged are in its state: should they come again, they are
left out. So every message counts once, if one consumer reads the queue.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from millrace.common.source import SplitEnumeratorContext
from millrace.connectors.queue_enumerator import StandingSplits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

T = TypeVar("T")


@dataclass(frozen=True)
class ConsumerSplit:
    """One consumer of a queue.

    :ivar used: ids of messages that were emitted and may come again.
    """

    number: int
    used: tuple[str, ...] = ()

    @property
    def split_id(self) -> str:
        return f"consumer {self.number}"


@dataclass(frozen=True)
class Delivery(SplitBatch[T, ConsumerSplit]):
    """
    :ivar tags: what the queue calls its messages, to acknowledge them; also of those that were left out.
    :ivar ids: of the messages, where they have some.
    """

    tags: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


class AcknowledgingSplitReader(SplitReader[T, ConsumerSplit], Generic[T]):
    """Consumes a queue; gives ``Delivery`` batches."""

    @abstractmethod
    def acknowledge(self, tags: Sequence[Any]) -> None:
        """Let the queue forget messages. Returns when it has confirmed that."""


class AcknowledgedReader(SourceReaderBase[T, ConsumerSplit], Generic[T]):
    """Acknowledges what recorded checkpoints cover.

    :param make_split_reader: called in the thread, once.
    """

    def __init__(self, make_split_reader: Callable[[], AcknowledgingSplitReader[T]]) -> None:
        super().__init__(make_split_reader)
        self._tags: list[Any] = []
        self._ids: list[str] = []
        self._waiting: deque[tuple[int, list[Any], list[str]]] = deque()
        """(checkpoint, tags, ids) of what is emitted and not acknowledged"""
        self._used: dict[str, None] = {}
        self._confirmed: deque[list[str]] = deque()
        """ids that cannot come again; the thread adds to it"""

    def add_splits(self, splits: Sequence[ConsumerSplit]) -> None:
        super().add_splits(splits)
        for split in splits:
            self._used |= dict.fromkeys(split.used)

    def emitted(self, batch: SplitBatch[T, ConsumerSplit]) -> None:
        assert isinstance(batch, Delivery)
        self._tags += batch.tags
        self._ids += batch.ids

    def snapshot_state(self, checkpoint_id: int) -> list[ConsumerSplit]:
        while self._confirmed:
            for each in self._confirmed.popleft():
                self._used.pop(each, None)
        self._used |= dict.fromkeys(self._ids)
        self._waiting.append((checkpoint_id, self._tags, self._ids))
        self._tags, self._ids = [], []
        splits = [replace(split, used=()) for split in super().snapshot_state(checkpoint_id)]
        return [replace(splits[0], used=tuple(self._used)), *splits[1:]] if splits else []

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        tags: list[Any] = []
        ids: list[str] = []
        while self._waiting and self._waiting[0][0] <= checkpoint_id:
            _, some, names = self._waiting.popleft()
            tags += some
            ids += names
        if tags:
            self.tell(lambda reader: self._acknowledge(reader, tags, ids))

    def _acknowledge(self, reader: AcknowledgingSplitReader[T], tags: list[Any], ids: list[str]) -> None:
        reader.acknowledge(tags)
        self._confirmed.append(ids)


def consumers(
    context: SplitEnumeratorContext[ConsumerSplit], checkpoint: list[ConsumerSplit] | None, single: bool
) -> StandingSplits[ConsumerSplit]:
    """An enumerator that gives each subtask a consumer, or all in all one."""
    count = 1 if single else context.current_parallelism()
    splits = [ConsumerSplit(number) for number in range(count)] if checkpoint is None else checkpoint
    return StandingSplits(context, splits)
