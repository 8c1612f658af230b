"""``CdcReader``: the reader of a capture, in a task. It reads chunks of the snapshot, then perhaps the log.

``CdcSplitReader`` fetches in the reader's thread; ``ChunkFilter`` drops changes of the log that the chunks contain
already. The reader reports finished chunks to the enumerator, and confirms a position of the log to the server once a
checkpoint has it.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceEvent, SourceReaderContext
from millrace.connectors.cdc.changes import (
    Change,
    ChunkSplit,
    ChunksReported,
    ChunksTaken,
    FinishedChunk,
    LogGoesOn,
    LogSplit,
    LogWaits,
    Relation,
    TableChunks,
)
from millrace.connectors.cdc.database import CdcDatabase, LogReader
from millrace.connectors.cdc.deserializers import ChangeDecoder
from millrace.connectors.cdc.events import SchemaChangeEvent, TableId
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

Events = Sequence[Change | SchemaChangeEvent]


class ChunkFilter:
    """For each side of a change: has the chunk that the row lies in seen it?

    The old row and the new one may lie in different chunks, which were read at different times. So an update of which
    one side was seen becomes a deletion or an insertion.
    """

    def __init__(
        self, chunks: Iterable[TableChunks], repeats_deletions: bool = False, pending: Iterable[Change] = ()
    ) -> None:
        """:param repeats_deletions: whether ``passed`` gives deletions of rows that are not in their chunk: an attempt
            to read it that failed may have met the row, and a sink may have it.
        :param pending: such deletions, of an earlier filter."""
        self._repeats = repeats_deletions
        self._pending = {self._key(change, change.before): change for change in pending}
        self._tables: dict[TableId, TableChunks] = {each.table: each for each in chunks}

    @property
    def chunks(self) -> tuple[TableChunks, ...]:
        return tuple(self._tables.values())

    @property
    def pending(self) -> tuple[Change, ...]:
        return tuple(self._pending.values())

    def passed(self, position: Any) -> list[Change]:
        """Forget tables of which no chunk has seen anything behind a position; the deletions to repeat of them."""
        for each in self.chunks:
            if all(seen.passed(position) for seen in each.seen):
                del self._tables[each.table]
        due = [key for key in self._pending if key[0] not in self._tables]
        return [self._pending.pop(key) for key in due]

    @staticmethod
    def _key(change: Change, row: Any) -> tuple[TableId, tuple[Any, ...]]:
        return change.relation.table, tuple(row[place] for place in change.relation.schema.key_places)

    def _remember(self, change: Change, left: Change | None) -> None:
        """Which rows were deleted before their chunk was read, and not inserted again."""
        if change.op == "d" and left is None:
            self._pending[self._key(change, change.before)] = change
        else:
            row = change.before if change.after is None else change.after
            self._pending.pop(self._key(change, row), None)

    def __bool__(self) -> bool:
        return bool(self._tables)

    def apply(self, events: Events, database: CdcDatabase) -> Events:
        """What is left of some events of the log."""
        if not self._tables:
            return events
        asked: dict[int, tuple[Relation, list[Change]]] = {}
        for each in events:
            if isinstance(each, Change) and each.relation.table in self._tables:
                asked.setdefault(id(each.relation), (each.relation, []))[1].append(each)
        if not asked:
            return events
        left: dict[int, Change | None] = {}
        for relation, changes in asked.values():
            left.update(self._of_table(relation, changes, database))
        kept = (left.get(id(each), each) for each in events)
        return [each for each in kept if each is not None]

    def _of_table(self, relation: Relation, changes: list[Change], database: CdcDatabase) -> dict[int, Change | None]:
        """id of each change -> the change without the sides that its chunk has seen."""
        table = self._tables[relation.table]
        old, new = self._numbers(table, relation, changes, database)
        found: dict[int, Change | None] = {}
        for change, before, after in zip(changes, old, new):
            mark = change.mark
            old_seen = table.seen[before].contains(mark)
            new_seen = old_seen if after == before else table.seen[after].contains(mark)
            found[id(change)] = left = _not_seen(change, old_seen, new_seen)
            if self._repeats and relation.schema.primary_key:
                self._remember(change, left)
        return found

    @staticmethod
    def _numbers(
        table: TableChunks, relation: Relation, changes: Sequence[Change], database: CdcDatabase
    ) -> tuple[list[int], list[int]]:
        """The numbers of the chunks of the old and the new rows; where one side is missing, those of the other."""
        if table.column is None or not table.bounds:
            return [0] * len(changes), [0] * len(changes)
        place = relation.schema.names.index(table.column)
        values = []
        for change in changes:
            old = change.after if change.before is None else change.before
            new = change.before if change.after is None else change.after
            assert old is not None and new is not None
            values += [old[place], new[place]]
        numbers = database.locate(relation, table.column, table.bounds, values)
        return numbers[0::2], numbers[1::2]


def _not_seen(change: Change, old_seen: bool, new_seen: bool) -> Change | None:
    if change.op == "c":
        return None if new_seen else change
    if change.op == "d":
        return None if old_seen else change
    if old_seen and new_seen:
        return None
    if old_seen:
        return change._replace(op="c", before=None)
    if new_seen:
        return change._replace(op="d", after=None)
    return change


T = TypeVar("T")

WAIT_SECONDS = 0.2
ABOUT_BYTES = 200
"""Estimated bytes of a change, for the limit on changes that are read ahead."""


@dataclass(frozen=True)
class CdcBatch(SplitBatch[T, Any]):
    """What was read, with what only the reader has to know."""

    finished: FinishedChunk | None = None
    last_change: int | None = None
    """ms since 1970: when the last change of the log among these was committed"""


class CdcSplitReader(SplitReader[T, Any], Generic[T]):
    """Reads one chunk after the other, then the log.

    :param report_lag: called with the number of bytes that the server holds.
    """

    def __init__(
        self,
        database: CdcDatabase,
        decoder: ChangeDecoder[T],
        report_lag: Callable[[int], None],
        repeats_deletions: bool = False,
    ) -> None:
        self._repeats = repeats_deletions
        self._database, self._decoder, self._report_lag = database, decoder, report_lag
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
                self._filter = ChunkFilter(split.chunks, self._repeats, split.pending)
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
            self._report_lag(lag)
        if part is None:
            return ()
        events = self._filter.apply(part.events, self._database)
        for event in part.events:
            self._follow(event)
        events = [*events, *self._filter.passed(part.position)]
        self._split = left = replace(
            split,
            position=part.position,
            relations=tuple(self._relations.values()),
            chunks=self._filter.chunks if split.chunks else (),
            pending=self._filter.pending,
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


class CdcReader(SourceReaderBase[T, Any], Generic[T]):
    """Emits chunks and changes, reports chunks, and confirms positions once they are in a checkpoint."""

    def __init__(
        self,
        database: CdcDatabase,
        decoder: ChangeDecoder[T],
        context: SourceReaderContext,
        newly_added: bool = False,
        repeats_deletions: bool = False,
    ) -> None:
        """:param newly_added: whether the log split of a checkpoint has to wait until the enumerator names the new
        tables.
        """
        super().__init__(lambda: CdcSplitReader(database, decoder, self._lag_is, repeats_deletions))
        self._context, self._newly_added = context, newly_added
        self._waiting: LogSplit | None = None
        """the log split, while it waits for the enumerator to say which tables are new; None: no split waits"""
        self._finished: dict[str, FinishedChunk] = {}
        """emitted, and the enumerator has not said that it knows"""
        self._positions: dict[int, Any] = {}
        """checkpoint -> position of the log"""
        self._slot_lag = 0
        self._event_lag = 0
        """ms between the last change and its emission"""

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
