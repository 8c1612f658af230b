"""What a kind of database implements so that its tables can be captured: ``CdcDatabase`` and ``LogReader``.

The enumerator (driver) calls ``check``, ``tables``, ``prepare``, and cuts each table in chunks by a column of its key
with ``bounds`` and ``next_bound``. Readers (tasks) call ``read_chunk``, several at a time;
each chunk comes with a ``Seen`` that says which changes are in it. When all chunks are read one reader opens the log
where ``prepare`` said, and leaves out for each row what its chunk has seen.

A database with exact snapshots says in ``Seen`` what its snapshot has. One that only knows positions around a SELECT
(low before, high after) merges the log between the two into the rows (``backfill.merged``) and gives ``UpTo(high)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from millrace.connectors.cdc.changes import Change, ChunkRows, LogPart, Relation
from millrace.connectors.cdc.chunks import Bounds, Chunk
from millrace.connectors.cdc.schema import TableId, TableSchema
from millrace.connectors.cdc.startup import StartupOptions
from millrace.relational.types import DataType

__all__ = ["CdcDatabase", "LogReader", "PositionLost"]


class PositionLost(RuntimeError):
    """The log no longer has what comes behind the position of a checkpoint."""


class CdcDatabase(ABC):
    """A database and how to come to it. Travels to the tasks: connections are opened where they are used.

    Values of key columns ("keys", bounds of chunks) are Python values with the order that the database has for them, or
    ``locate`` is overridden. All calls have deadlines and raise errors that name the place, without secrets.
    """

    title: str
    """its name, for people"""
    connector: str
    """what Debezium calls it: ``postgresql``, ``mysql``"""

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
        """Have the log of tables that were not captured so far, from now on at the latest."""

    def ended(self, owner: str) -> None:
        """The job has ended for good: drop what ``prepare`` has made, if the user wants that."""

    @abstractmethod
    def bounds(self, table: TableId, schema: TableSchema, column: str) -> Bounds:
        """The least and the greatest value of a column, and about how many rows there are."""

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
