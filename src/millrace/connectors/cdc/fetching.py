"""The thread of a capture's reader: reads chunks, and the log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.connectors.cdc.changes import Change, Relation
from millrace.connectors.cdc.database import CdcDatabase, LogReader
from millrace.connectors.cdc.decoding import ChangeDecoder
from millrace.connectors.cdc.events import SchemaChangeEvent
from millrace.connectors.cdc.filtering import ChunkFilter
from millrace.connectors.cdc.schema import TableId
from millrace.connectors.cdc.splits import ChunkSplit, FinishedChunk, LogSplit
from millrace.connectors.split_reader import SplitBatch, SplitReader

T = TypeVar("T")

WAIT_SECONDS = 0.2
ABOUT_BYTES = 200
"""of a change, for the bound on what is read ahead"""


@dataclass(frozen=True)
class CdcBatch(SplitBatch[T, Any]):
    """What was read, with what only the reader has to know."""

    finished: FinishedChunk | None = None
    last_change: int | None = None
    """ms since 1970: when the last change of the log among these was committed"""


class CdcSplitReader(SplitReader[T, Any], Generic[T]):
    """Reads one chunk after the other, then the log.

    :param told_lag: called with the number of bytes that the server holds.
    """

    def __init__(self, database: CdcDatabase, decoder: ChangeDecoder[T], told_lag: Callable[[int], None]) -> None:
        self._database, self._decoder, self._told_lag = database, decoder, told_lag
        self._chunks: deque[ChunkSplit] = deque()
        self._split: LogSplit | None = None
        self._log: LogReader | None = None
        self._filter = ChunkFilter(())
        self._relations: dict[TableId, Relation] = {}
        self._confirmed: Any = None

    def handle_splits_changes(self, added: Sequence[Any]) -> None:
        for split in added:
            if isinstance(split, ChunkSplit):
                self._chunks.append(split)
            elif isinstance(split, LogSplit):
                self._split = split
                self._filter = ChunkFilter(split.chunks)
                self._relations = {each.table: each for each in split.relations}

    def fetch(self) -> Sequence[CdcBatch[T]]:
        if self._chunks:
            return [self._chunk(self._chunks.popleft())]
        if self._split is not None:
            return self._read_log(self._split)
        time.sleep(0.01)
        return ()

    def _chunk(self, split: ChunkSplit) -> CdcBatch[T]:
        rows = self._database.read_chunk(split.chunk, split.schema)
        records = self._decoder.rows(rows, self._database) if rows.count else []
        finished = FinishedChunk(split.chunk, rows.seen)
        return CdcBatch(split.split_id, records, None, size=rows.count * ABOUT_BYTES, finished=finished)

    def _read_log(self, split: LogSplit) -> Sequence[CdcBatch[T]]:
        if self._log is None:
            self._log = self._database.open_log(split.position, split.relations, split.owner)
            if begins := self._decoder.begins(split.relations):
                return [CdcBatch(split.split_id, begins, split)]
        part = self._log.read(WAIT_SECONDS)
        lag = self._log.lag()
        if lag is not None:
            self._told_lag(lag)
        if part is None:
            return ()
        events = self._filter.apply(part.events, self._database)
        for event in part.events:
            self._follow(event)
        self._filter.passed(part.position)
        self._split = left = replace(
            split,
            position=part.position,
            relations=tuple(self._relations.values()),
            chunks=self._filter.chunks if split.chunks else (),
        )
        records = self._decoder.changes(events, self._database) if events else []
        last = next((each.time for each in reversed(events) if isinstance(each, Change)), None)
        return [CdcBatch(split.split_id, records, left, size=len(events) * ABOUT_BYTES, last_change=last)]

    def _follow(self, event: Change | SchemaChangeEvent) -> None:
        """The split has the schemas that its tables have at its position."""
        if isinstance(event, Change):
            table = event.relation.table
            if self._relations.get(table) is not event.relation:
                self._relations[table] = event.relation
        elif (known := self._relations.get(event.table)) is not None:
            self._relations[event.table] = Relation(event.table, event.after(known.schema))

    def confirm(self, position: Any) -> None:
        """A checkpoint of the log's split is recorded."""
        if self._log is not None:
            self._log.confirm(position)

    def wake_up(self) -> None:
        log = self._log
        if log is not None:
            log.wake_up()

    def keep_alive(self) -> None:
        if self._log is not None:
            self._log.keep_alive()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
