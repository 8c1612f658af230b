"""What readers of a capture are given, and leave in checkpoints: chunks, chunks that are read, the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.common.source import SourceEvent
from millrace.connectors.cdc.changes import Relation
from millrace.connectors.cdc.chunks import Chunk
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.seen import Seen

__all__ = [
    "ChunkSplit",
    "ChunksReported",
    "ChunksTaken",
    "FinishedChunk",
    "LogGoesOn",
    "LogSplit",
    "LogWaits",
    "TableChunks",
]


@dataclass(frozen=True)
class ChunkSplit:
    """A chunk that is to be read, all at once."""

    chunk: Chunk
    schema: TableSchema = field(repr=False)

    @property
    def split_id(self) -> str:
        return self.chunk.split_id


@dataclass(frozen=True)
class FinishedChunk:
    """A chunk whose rows were emitted. A reader keeps it until the enumerator says that it knows."""

    chunk: Chunk
    seen: Seen

    @property
    def split_id(self) -> str:
        return self.chunk.split_id


@dataclass(frozen=True)
class TableChunks:
    """What the chunks of a table have seen. :ivar bounds: where the chunks but the first one begin."""

    table: TableId
    column: str | None
    bounds: tuple[Any, ...]
    seen: tuple[Seen, ...]


@dataclass(frozen=True)
class LogSplit:
    """The log behind a position.

    :ivar relations: the schemas of the tables there.
    :ivar chunks: what was read otherwise, as long as the log has changes that may be in it.
    """

    position: Any
    relations: tuple[Relation, ...] = field(repr=False)
    chunks: tuple[TableChunks, ...] = field(default=(), repr=False)
    owner: str = ""
    split_id: str = "log"
    waits: bool = False
    """whether it comes from a checkpoint, so that the enumerator may have tables to add first"""


@dataclass(frozen=True)
class ChunksReported(SourceEvent):
    """A reader has emitted chunks."""

    finished: tuple[FinishedChunk, ...]


@dataclass(frozen=True)
class LogWaits(SourceEvent):
    """A reader has the log from a checkpoint, and asks whether it may go on."""


@dataclass(frozen=True)
class LogGoesOn(SourceEvent):
    """It may, with these tables, and what was read of them meanwhile."""

    relations: tuple[Relation, ...]
    chunks: tuple[TableChunks, ...]


@dataclass(frozen=True)
class ChunksTaken(SourceEvent):
    """The enumerator knows of chunks: their reader may forget them."""

    split_ids: frozenset[str]
