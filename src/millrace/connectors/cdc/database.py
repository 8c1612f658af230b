"""``CdcDatabase`` and ``LogReader``: what a kind of database implements so that its tables can be captured.

The enumerator (driver) calls ``check``, ``tables``, ``prepare``, and cuts each table in chunks by a column of its key
with ``bounds`` and ``next_bound``. Readers (tasks) call ``read_chunk``, several at a time; each chunk comes with a
``Seen`` that says which changes are in it. When all chunks are read one reader opens the log where ``prepare`` said,
and leaves out for each row what its chunk has seen.

A database with exact snapshots says in ``Seen`` what its snapshot has. One that only knows positions around a SELECT
(low before, high after) merges the log between the two into the rows (``changes.backfilled``) and gives ``UpTo(high)``.
``StartupOptions`` says where a capture begins.
"""

from __future__ import annotations

import enum
import logging
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from millrace.connectors.cdc.changes import Bounds, Change, Chunk, ChunkRows, LogPart, Relation
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.stores import ConnectionFailed
from millrace.relational.types import DataType


class StartupMode(enum.Enum):
    """The values are those of 'scan.startup.mode'."""

    INITIAL = "initial"
    EARLIEST_OFFSET = "earliest-offset"
    LATEST_OFFSET = "latest-offset"
    COMMITTED_OFFSETS = "committed-offset"
    SPECIFIC_OFFSETS = "specific-offset"
    TIMESTAMP = "timestamp"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class StartupOptions:
    """A mode and what it needs.

        >>> StartupOptions.initial().has_snapshot, StartupOptions.latest().has_snapshot
        (True, False)

    :ivar offset: of SPECIFIC_OFFSETS, in the database's own form.
    :ivar timestamp: of TIMESTAMP, ms since 1970.
    """

    mode: StartupMode = StartupMode.INITIAL
    offset: Any = None
    timestamp: int | None = None

    @property
    def has_snapshot(self) -> bool:
        """Whether the rows are read that are there."""
        return self.mode in (StartupMode.INITIAL, StartupMode.SNAPSHOT)

    @property
    def has_log(self) -> bool:
        """Whether the log of changes is read."""
        return self.mode is not StartupMode.SNAPSHOT

    @staticmethod
    def initial() -> StartupOptions:
        """The rows that are there, then the log."""
        return StartupOptions()

    @staticmethod
    def snapshot() -> StartupOptions:
        """The rows that are there, and no more."""
        return StartupOptions(StartupMode.SNAPSHOT)

    @staticmethod
    def latest() -> StartupOptions:
        """The log from now on."""
        return StartupOptions(StartupMode.LATEST_OFFSET)

    @staticmethod
    def earliest() -> StartupOptions:
        """The log as far back as it goes."""
        return StartupOptions(StartupMode.EARLIEST_OFFSET)

    @staticmethod
    def committed_offset() -> StartupOptions:
        """The log from where the server knows that an earlier job was."""
        return StartupOptions(StartupMode.COMMITTED_OFFSETS)

    @staticmethod
    def specific_offset(*offset: Any) -> StartupOptions:
        """The log from a place of it: a file and a position, or one value in the database's own form."""
        return StartupOptions(StartupMode.SPECIFIC_OFFSETS, offset=offset[0] if len(offset) == 1 else offset)

    @staticmethod
    def timestamp_millis(timestamp: int) -> StartupOptions:
        """The log from a time on."""
        return StartupOptions(StartupMode.TIMESTAMP, timestamp=timestamp)


T = TypeVar("T")
RETRY_PAUSE_SECONDS = 0.5

logger = logging.getLogger(__name__)


def retry_query(work: Callable[[], T], is_passing: Callable[[BaseException], bool], retries: int, place: str) -> T:
    """After half a second, one, two, ...

    :param work: only reads.
    :param is_passing: whether an error may be over a moment later.
    :param place: of the server, for messages.
    :raises ConnectionFailed: it was tried so often.
    """
    for attempt in range(retries + 1):
        try:
            return work()
        except Exception as error:
            if not is_passing(error) or (attempt == retries and isinstance(error, ConnectionFailed)):
                raise
            if attempt == retries:
                raise ConnectionFailed(f"{place}: the connection is lost: {error}", True) from error
            logger.warning("%s: %s; it is asked again", place, error)
        time.sleep(RETRY_PAUSE_SECONDS * 2**attempt)
    raise AssertionError("the last try gives its result or its error")


class PositionLost(RuntimeError):
    """The log no longer has what comes behind the position of a checkpoint."""


class CdcDatabase(ABC):
    """A database and how to come to it. Travels to the tasks: connections are opened where they are used.

    Values of key columns ("keys", bounds of chunks) are Python values with the order that the database has for them, or
    ``locate`` is overridden. All calls have deadlines and raise errors that name the place, without secrets.
    """

    title: str
    """name of the kind of database, for messages"""
    connector: str
    """Debezium's name for it: ``postgresql``, ``mysql``"""

    # -- on the driver ------------------------------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """:raises RuntimeError: the server is not set up for this; with what to set."""

    @abstractmethod
    def tables(self) -> Mapping[TableId, TableSchema]:
        """The tables that the patterns name, in the order of their names, with their schemas as they are now.

        :raises RuntimeError: there is none; or one cannot be captured, with the reason.
        """

    @abstractmethod
    def prepare(self, startup: StartupOptions, tables: Sequence[TableId], owner: str) -> Any:
        """Make whatever keeps the log for this job (slot, publication), and give the position where it is read from.

        Whatever is committed before that position must be seen by every chunk that is read later.

        :param owner: a name of this capture that no other has, the same one after every restart.
        """

    @abstractmethod
    def resume(self, position: Any, tables: Sequence[TableId], owner: str) -> None:
        """A job goes on from a checkpoint. :raises PositionLost: the log does not go back to there; with a way out."""

    def add(self, tables: Sequence[TableId], owner: str) -> None:
        """Make sure that the log contains the changes of these new tables from now on."""

    def ended(self, owner: str) -> None:
        """The job has ended and will not be resumed: drop what ``prepare`` has made, if the user wants that."""

    @abstractmethod
    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        """The minimum and maximum of a column, and the estimated number of rows."""

    @abstractmethod
    def next_bound(
        self, table: TableId, schema: TableSchema, column: str, start: Any, greatest: Any, rows: int
    ) -> Any | None:
        """The value of the column at which a chunk ends that begins at ``start`` (None: at the first row) and has about
        so many rows: greater than ``start`` and than the values of the chunk, at most ``greatest``. None: there is
        nothing beyond, up to there."""

    # -- in the tasks -------------------------------------------------------------------------------------------

    @abstractmethod
    def read_chunk(self, chunk: Chunk, schema: TableSchema) -> ChunkRows:
        """All rows of a chunk. Rows whose column is NULL belong to the chunk without a ``start``.

        ``schema`` is what is known; the rows may have another one by now.
        """

    @abstractmethod
    def open_log(self, position: Any, relations: Sequence[Relation], owner: str) -> LogReader:
        """The log behind a position. :param relations: the tables wanted, with the schemas that they have there."""

    def locate(self, relation: Relation, column: str, bounds: Sequence[Any], values: Sequence[Any]) -> list[int]:
        """For values of a column, as the log has them, the numbers of the chunks that they are in: how many ``bounds``
        (which ascend) are at most the value. 0 for NULL."""
        found = self.keys(relation, column, values)
        return [0 if key is None else bisect_right(bounds, key) for key in found]

    @abstractmethod
    def keys(self, relation: Relation, column: str, values: Sequence[Any]) -> list[Any]:
        """Values as the log has them in the form of bounds."""

    @abstractmethod
    def column(self, values: Sequence[Any] | pa.Array, native: str, kind: DataType, where: str) -> pa.Array:
        """Values as the log and ``ChunkRows`` have them as a column of a type, which need not be that of the schema.

        The same value gives the same result wherever it was read: what the log takes back must be what the chunk gave.

        :param native: the column's type in the database's words. :param where: table and column, for errors.
        :raises ValueError: one does not fit into the type, or is ``UNCHANGED``.
        """

    @abstractmethod
    def source(self, change: Change) -> Mapping[str, Any]:
        """What Debezium has in ``source`` of a change beside names and times."""


class LogReader(ABC):
    """Reads the log. Used by one thread; ``wake_up`` by others."""

    @abstractmethod
    def read(self, seconds: float) -> LogPart | None:
        """What comes next, some thousands of events at most; None if nothing comes within that time. The position may
        move without events. :raises PositionLost: what comes next is gone."""

    def wake_up(self) -> None:
        """Let ``read`` return soon."""

    def keep_alive(self) -> None:
        """Called every few seconds while nothing is read."""

    def confirm(self, position: Any) -> None:
        """A checkpoint with this position is recorded: the server may forget what is before it."""

    def lag(self) -> int | None:
        """How many bytes the server holds for this reader, if that is known."""
        return None

    def close(self) -> None: ...
