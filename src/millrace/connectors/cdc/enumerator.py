"""The driver's half of a capture: cuts tables in chunks, gathers what they have seen, hands out the log."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millrace.common.source import SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.cdc.changes import Relation
from millrace.connectors.cdc.chunks import Chunk, Cut
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.seen import Seen
from millrace.connectors.cdc.splits import (
    ChunkSplit,
    ChunksReported,
    ChunksTaken,
    FinishedChunk,
    LogGoesOn,
    LogSplit,
    LogWaits,
    TableChunks,
)

if TYPE_CHECKING:
    from millrace.connectors.cdc.source import CdcSource

logger = logging.getLogger(__name__)

Split = ChunkSplit | FinishedChunk | LogSplit


@dataclass(frozen=True)
class Captured:
    """The state of an enumerator. A chunk is in ``given`` from its assignment until its reader reports it."""

    owner: str
    position: Any
    """where the log is read from when all chunks are read"""
    schemas: Mapping[TableId, TableSchema]
    tables: tuple[TableId, ...] = ()
    """not cut yet"""
    cut: Cut | None = None
    given: frozenset[str] = frozenset()
    back: tuple[ChunkSplit, ...] = ()
    """chunks, given back by readers that are gone"""
    finished: tuple[tuple[Chunk, Seen], ...] = ()
    log: LogSplit | None = None
    """given back by a reader that is gone"""
    log_given: bool = False


@dataclass
class _Progress:
    """What ``Captured`` has, while it changes."""

    tables: list[TableId]
    cut: Cut | None
    given: set[str]
    back: list[ChunkSplit]
    finished: dict[str, tuple[Chunk, Seen]] = field(default_factory=dict)


class CdcEnumerator(SplitEnumerator[Split]):
    """Chunks are cut when readers ask for them: a request costs one query at most."""

    def __init__(
        self, source: CdcSource[Any], context: SplitEnumeratorContext[Split], earlier: Captured | None = None
    ) -> None:
        self._source = source
        self._context = context
        self._earlier = earlier
        self._owner = uuid.uuid4().hex[:12] if earlier is None else earlier.owner
        self._position: Any = None if earlier is None else earlier.position
        self._schemas = dict(earlier.schemas) if earlier is not None else {}
        self._log = earlier.log if earlier is not None else None
        self._log_given = earlier is not None and earlier.log_given
        self._at = _Progress([], None, set(), [])
        self._asking: int | None = None
        """the reader that has the log, and waits"""
        if earlier is not None:
            finished = {chunk.split_id: (chunk, seen) for chunk, seen in earlier.finished}
            self._at = _Progress(list(earlier.tables), earlier.cut, set(earlier.given), list(earlier.back), finished)

    def start(self) -> None:
        """:raises RuntimeError: the server is not set up, a table is missing, or the position is lost."""
        source = self._source
        source.database.check()
        if self._earlier is not None:
            if source.startup.has_log and not self._log_given:  # else its reader knows the position, and looks
                source.database.resume(self._position, list(self._schemas), self._owner)
            if source.newly_added:
                self._add_new()
            return
        self._schemas = dict(source.database.tables())
        for table, schema in self._schemas.items():
            source.chunk_column(table, schema)
        self._position = source.database.prepare(source.startup, list(self._schemas), self._owner)
        if source.startup.has_snapshot:
            self._at.tables = list(self._schemas)
        logger.info("%s: capturing %s", source.database.title, ", ".join(map(str, self._schemas)))

    def _add_new(self) -> None:
        """Tables that match by now: their chunks are read as those of the others were."""
        source = self._source
        found = {table: schema for table, schema in source.database.tables().items() if table not in self._schemas}
        if not found:
            return
        for table, schema in found.items():
            source.chunk_column(table, schema)
        source.database.add(list(found), self._owner)
        self._schemas |= found
        if source.startup.has_snapshot:
            self._at.tables += found
        logger.info("%s: capturing %s, too", source.database.title, ", ".join(map(str, found)))

    # -- chunks -------------------------------------------------------------------------------------------------

    def handle_split_request(self, subtask_id: int) -> None:
        split = self._next_chunk()
        if split is not None:
            self._at.given.add(split.split_id)
            self._context.assign_split(split, subtask_id)
        elif not self._source.startup.has_log:
            self._context.signal_no_more_splits(subtask_id)
        elif not self._at.given and not self._log_given:  # the log comes behind the last chunk
            self._context.assign_split(self._log or self._whole_log(), subtask_id)
            self._log, self._log_given = None, True
            self._at.finished.clear()
        elif not self._at.given and self._asking is not None:
            # What was read stays known: a reader that takes over asks again.
            log = self._whole_log()
            self._context.send_event_to_source_reader(self._asking, LogGoesOn(log.relations, log.chunks))
            self._asking = None

    def _next_chunk(self) -> ChunkSplit | None:
        at, source = self._at, self._source
        if at.back:
            return at.back.pop()
        if at.cut is None:
            if not at.tables:
                return None
            table = at.tables.pop(0)
            schema = self._schemas[table]
            column = source.chunk_column(table, schema)
            bounds = None if column is None else source.database.bounds(table, schema, column)
            at.cut = Cut.begin(table, column, bounds, source.chunking)
        cut = at.cut
        schema = self._schemas[cut.table]

        def bound(start: Any, greatest: Any) -> Any | None:
            assert cut.column is not None
            rows = source.chunking.rows
            return source.database.next_bound(cut.table, schema, cut.column, start, greatest, rows)

        chunk, at.cut = cut.next(bound)
        return ChunkSplit(chunk, schema)

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, LogWaits):
            self._asking = subtask_id
        if not isinstance(event, ChunksReported):
            return
        for each in event.finished:
            # Of what a reader tells again that took over, nothing is new.
            if each.split_id in self._at.given:
                self._at.given.discard(each.split_id)
                self._at.finished[each.split_id] = (each.chunk, each.seen)
        taken = frozenset(each.split_id for each in event.finished)
        self._context.send_event_to_source_reader(subtask_id, ChunksTaken(taken))

    # -- the log ------------------------------------------------------------------------------------------------

    def _whole_log(self) -> LogSplit:
        by_table: dict[TableId, list[tuple[Chunk, Seen]]] = {}
        for chunk, seen in self._at.finished.values():
            by_table.setdefault(chunk.table, []).append((chunk, seen))
        chunks = []
        for table, found in by_table.items():
            found.sort(key=lambda each: each[0].number)
            bounds = tuple(chunk.start for chunk, _ in found[1:])
            chunks.append(TableChunks(table, found[0][0].column, bounds, tuple(seen for _, seen in found)))
        relations = tuple(Relation(table, schema) for table, schema in self._schemas.items())
        return LogSplit(self._position, relations, tuple(chunks), self._owner)

    def add_splits_back(self, splits: Sequence[Split], subtask_id: int) -> None:
        for split in splits:
            if isinstance(split, ChunkSplit):
                self._at.given.discard(split.split_id)
                self._at.back.append(split)
            elif isinstance(split, FinishedChunk):
                self._at.given.discard(split.split_id)
                self._at.finished[split.split_id] = (split.chunk, split.seen)
            else:
                self._log, self._log_given = split, False

    def snapshot_state(self, checkpoint_id: int) -> Captured:
        at = self._at
        return Captured(
            self._owner, self._position, self._schemas, tuple(at.tables), at.cut, frozenset(at.given), tuple(at.back),
            tuple(at.finished.values()), self._log, self._log_given,
        )  # fmt: skip

    def job_ended(self, splits: Sequence[Split]) -> None:
        self._source.database.ended(self._owner)
