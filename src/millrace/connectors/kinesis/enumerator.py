"""Finds the shards of streams, again and again; children are read when their parents are."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.common.source import SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.kinesis.shards import Shard, ShardSplit, parents_first

if TYPE_CHECKING:
    from millrace.connectors.kinesis.source import KinesisStreamsSource

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardFinished(SourceEvent):
    """A reader has read a closed shard to its end."""

    split_id: str


class Found(NamedTuple):
    """The state of an enumerator."""

    known: frozenset[str]
    """of all shards that were found, wherever they are by now"""
    finished: frozenset[str]
    waiting: tuple[ShardSplit, ...]


class ShardEnumerator(SplitEnumerator[ShardSplit]):
    """Asks the service at the start and then every so often, in a thread of its own."""

    splits_end = False

    def __init__(
        self,
        source: KinesisStreamsSource,
        context: SplitEnumeratorContext[ShardSplit],
        earlier: Found | None = None,
    ) -> None:
        self._source, self._context = source, context
        self._known = set(earlier.known if earlier is not None else ())
        self._finished = set(earlier.finished if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._first = earlier is None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._seen: list[Shard] = []

    def start(self) -> None:
        """:raises ValueError: there is no such stream."""
        self._seen = self._ask()
        if self._first:
            self._first = False
            self._begin()
        self._take_over()
        threading.Thread(target=self._look, name="millrace-kinesis-shards", daemon=True).start()

    def _ask(self) -> list[Shard]:
        return [shard for stream in self._source.streams for shard in self._source.service.shards(stream)]

    def _begin(self) -> None:
        """Where there is a beginning other than the oldest record, closed shards are of the past."""
        if self._source.start == "TRIM_HORIZON":
            return
        since = int(time.time() * 1000) if self._source.start == "LATEST" else int(self._source.since or 0)
        for each in self._seen:
            split = ShardSplit(each.stream, each.id, None, since)
            self._known.add(split.split_id)
            if each.open or self._source.start != "LATEST":
                self._waiting.append(split)
            else:
                self._finished.add(split.split_id)

    def _take_over(self) -> None:
        for each in parents_first(self._seen, self._finished, self._known):
            split = ShardSplit(each.stream, each.id)
            self._known.add(split.split_id)
            self._waiting.append(split)

    def _look(self) -> None:
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                seen = self._ask()
            except Exception as error:
                logger.warning("shards were not looked up, which is tried again: %s", error)
                continue
            with self._lock:
                self._seen = seen

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, ShardFinished):
            self._finished.add(event.split_id)
            # Its children are there from the moment that it was closed.
            seen = self._ask()
            with self._lock:
                self._seen = seen

    def handle_split_request(self, subtask_id: int) -> None:
        with self._lock:
            self._take_over()
        if self._waiting:
            self._context.assign_split(self._waiting.pop(0), subtask_id)

    def add_splits_back(self, splits: Sequence[ShardSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        with self._lock:
            return Found(frozenset(self._known), frozenset(self._finished), tuple(self._waiting))

    def close(self) -> None:
        self._closed.set()
