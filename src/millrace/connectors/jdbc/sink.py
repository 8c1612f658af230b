"""A database as a place that tables are written to: in buffers, or exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.dbapi.exactly_once import DbApiExactlyOnceSink
from millrace.connectors.jdbc.changes import RowChanges
from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.target import Target
from millrace.connectors.stores.buffered import Reachable
from millrace.relational.rows import Rows, concat


@dataclass(frozen=True)
class Database(Reachable):
    """A way to a database, which travels into tasks."""

    dialect: Dialect
    target: Target

    def __call__(self) -> Any:
        """A new connection."""
        return self.dialect.connect(self.target)

    def is_passing(self, error: BaseException) -> bool:
        return self.dialect.is_passing(error)

    def commit(self, connection: Any) -> None:
        connection.commit()


class JdbcExactlyOnceSink(DbApiExactlyOnceSink[Rows]):
    """**Exactly once**: what an epoch wrote, reduced to the last row of each key, waits for its checkpoint; the driver
    then writes it together with its name in one transaction."""

    def __init__(self, database: Database, changes: RowChanges, log_directory: str | None, commit_table: str) -> None:
        super().__init__(
            database, changes, log_directory, commit_table=commit_table, param_style=database.dialect.style
        )
        self._rows = changes

    def create_writer(self, context: WriterInitContext) -> Any:
        return _Reducing(super().create_writer(context), self._rows)


class _Reducing(SinkWriter[Rows]):
    """Hands on what is left of an epoch at its end."""

    def __init__(self, below: SinkWriter[Rows], changes: RowChanges) -> None:
        self._below = below
        self._changes = changes
        self._waiting: list[Rows] = []
        self._context: SinkWriterContext | None = None

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._waiting.append(element)
        self._context = context

    def flush(self, end_of_input: bool) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and self._context is not None:
            self._below.write(self._changes.reduced(concat(waiting)), self._context)
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()
