"""The task's half of a capture."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceEvent, SourceReaderContext
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.fetching import CdcBatch, CdcSplitReader
from millrace.connectors.cdc.splits import ChunksReported, ChunksTaken, FinishedChunk, LogGoesOn, LogSplit, LogWaits
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch

T = TypeVar("T")


class CdcReader(SourceReaderBase[T, Any], Generic[T]):
    """Emits chunks and changes, reports chunks, and confirms positions once they are in a checkpoint."""

    def __init__(
        self, database: CdcDatabase, decoder: ChangeDecoder[T], context: SourceReaderContext, newly_added: bool = False
    ) -> None:
        """:param newly_added: whether the log of a checkpoint waits for tables that are new."""
        super().__init__(lambda: CdcSplitReader(database, decoder, self._lag_is))
        self._context, self._newly_added = context, newly_added
        self._waiting: LogSplit | None = None
        """until the enumerator has said which tables are new"""
        self._finished: dict[str, FinishedChunk] = {}
        """emitted, and the enumerator has not said that it knows"""
        self._unreported: list[FinishedChunk] = []
        self._positions: dict[int, Any] = {}
        """by checkpoint, of the log"""
        self._slot_lag = 0
        self._event_lag = 0
        """ms that the last change was old when it was emitted"""

    def start(self) -> None:
        with contextlib.suppress(NotImplementedError):
            metrics = self._context.get_runtime_context().get_metrics_group()
            metrics.gauge("logLagBytes", lambda: self._slot_lag)
            metrics.gauge("currentEmitEventTimeLag", lambda: self._event_lag)

    def _lag_is(self, size: int) -> None:
        self._slot_lag = size

    def add_splits(self, splits: Sequence[Any]) -> None:
        finished = [split for split in splits if isinstance(split, FinishedChunk)]
        self._finished.update((each.split_id, each) for each in finished)
        self._report(finished)
        unread = [split for split in splits if not isinstance(split, FinishedChunk)]
        if self._newly_added:
            for split in unread:
                if isinstance(split, LogSplit) and split.waits:
                    self._waiting = split
                    self._context.send_source_event_to_coordinator(LogWaits())
            unread = [split for split in unread if split is not self._waiting]
        if unread:
            super().add_splits(unread)

    def emitted(self, batch: SplitBatch[T, Any]) -> None:
        assert isinstance(batch, CdcBatch)
        if batch.last_change is not None:
            self._event_lag = max(0, int(time.time() * 1000) - batch.last_change)
        if batch.finished is not None:
            self._finished[batch.finished.split_id] = batch.finished
            self._report([batch.finished])

    def _report(self, finished: Sequence[FinishedChunk]) -> None:
        if finished:
            self._context.send_source_event_to_coordinator(ChunksReported(tuple(finished)))

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        status = super().poll_next(output)
        return InputStatus.NOTHING_AVAILABLE if status is InputStatus.END_OF_INPUT and self._waiting else status

    def handle_source_events(self, event: SourceEvent) -> None:
        if isinstance(event, ChunksTaken):
            for split_id in event.split_ids:
                self._finished.pop(split_id, None)
        elif isinstance(event, LogGoesOn) and self._waiting is not None:
            split, self._waiting = self._waiting, None
            known = {each.table for each in split.relations}
            relations = tuple(each for each in event.relations if each.table not in known)
            chunks = tuple(each for each in event.chunks if each.table not in known)
            super().add_splits(
                [replace(split, relations=split.relations + relations, chunks=split.chunks + chunks, waits=False)]
            )

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        left = super().snapshot_state(checkpoint_id)
        left += [] if self._waiting is None else [self._waiting]
        log = next((split for split in left if isinstance(split, LogSplit)), None)
        if log is not None:
            self._positions[checkpoint_id] = log.position
        left = [replace(split, waits=True) if isinstance(split, LogSplit) else split for split in left]
        return [*left, *self._finished.values()]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        position = self._positions.get(checkpoint_id)
        self._positions = {known: at for known, at in self._positions.items() if known > checkpoint_id}
        if position is not None:
            self.tell(lambda reader: reader.confirm(position))
