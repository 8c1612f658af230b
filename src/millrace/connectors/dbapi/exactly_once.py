"""``DbApiExactlyOnceSink``: batches wait for their checkpoint; each is one transaction, with its name in a table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any, TypeVar

from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.connection import Connect, bind, open_connection, param_style, placeholders
from millrace.connectors.dbapi.names import TableName, quote_mark, quoted_table
from millrace.connectors.write_ahead import Batch, BatchSender, WriteAheadSink
from millrace.connectors.write_ahead.sink import WEEK_MS

__all__ = ["DbApiExactlyOnceSink"]

T = TypeVar("T")

_BATCH_SIZE = 10_000
_PRUNE_EVERY_S = 3600


class DbApiExactlyOnceSink(WriteAheadSink[T]):
    """**Exactly once** for any database with transactions: what an epoch wrote waits until its checkpoint is recorded;
    the driver then writes each batch in one transaction, and the batch's name with it. A batch whose name is there is
    not written again. So the database always holds what some checkpoint covers, batch by batch.

    :param connect: opens a connection, called on the driver for each commit.
    :param change: ``DbApiInsert`` or ``DbApiUpsert``.
    :param log_directory: where large batches wait; it and ``trust_directory``: see ``WriteAheadSink``.
    :param commit_table: made if it is not there: ``batch VARCHAR(100) PRIMARY KEY, sent_at BIGINT``. Sinks may share
        one. Its name is quoted as ``DbApiUpsert`` does.
    :param keep_ms: how long names stay in the table. Going on from an older checkpoint or savepoint may write the
        batches that wait in it again.
    """

    def __init__(
        self,
        connect: Connect,
        change: Change[T],
        log_directory: str | None = None,
        *,
        commit_table: TableName = "millrace_commits",
        keep_ms: int = WEEK_MS,
        inline_bytes: int = 64 * 1024,
        param_style: str | None = None,
        trust_directory: bool = False,
    ) -> None:
        super().__init__(log_directory, inline_bytes=inline_bytes, trust_directory=trust_directory)
        self._connect = connect
        self._change = change
        self._commit_table = commit_table
        self._keep_ms = keep_ms
        self._param_style = param_style
        self._next_prune = 0.0

    def create_sender(self) -> BatchSender[T]:
        connection = open_connection(self._connect)
        try:
            name = quoted_table(self._commit_table, quote_mark(connection))
            table = CommitTable(connection, name, self._param_style or param_style(connection))
            if time.monotonic() >= self._next_prune:
                self._next_prune = time.monotonic() + _PRUNE_EVERY_S
                table.forget(int(time.time() * 1000) - self._keep_ms)
        except BaseException:
            connection.close()
            raise
        return _DbApiSender(connection, self._change, table)

    def __repr__(self) -> str:
        return f"DbApiExactlyOnceSink({self._change!r})"


class CommitTable:
    """The names of the batches that a database has.

    :param table: its name, quoted.
    """

    def __init__(self, connection: Any, table: str, style: str) -> None:
        self._connection = connection
        self._table = table
        self._style = style
        if not self._is_there():
            self._execute(f"CREATE TABLE {table} (batch VARCHAR(100) NOT NULL PRIMARY KEY, sent_at BIGINT NOT NULL)")
            connection.commit()

    def _is_there(self) -> bool:
        # The only question that all databases understand.
        try:
            self._execute(f"SELECT sent_at FROM {self._table} WHERE 1 = 0")
        except Exception:
            return False
        finally:
            self._connection.rollback()
        return True

    def has(self, batch: str) -> bool:
        (mark,) = placeholders(self._style, 1)
        found = self._execute(f"SELECT sent_at FROM {self._table} WHERE batch = {mark}", batch)
        self._connection.rollback()
        return bool(found)

    def add(self, batch: str) -> None:
        """Part of the transaction at hand."""
        marks = ", ".join(placeholders(self._style, 2))
        self._execute(f"INSERT INTO {self._table} (batch, sent_at) VALUES ({marks})", batch, int(time.time() * 1000))

    def forget(self, before: int) -> None:
        """Delete what was sent before that time, ms."""
        (mark,) = placeholders(self._style, 1)
        self._execute(f"DELETE FROM {self._table} WHERE sent_at < {mark}", before)
        self._connection.commit()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        with closing(self._connection.cursor()) as cursor:
            if values:
                cursor.execute(statement, bind(self._style, values))
            else:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description is not None else []


class _DbApiSender(BatchSender[T]):
    remembers = True

    def __init__(self, connection: Any, change: Change[T], table: CommitTable) -> None:
        self._connection = connection
        self._change = change
        self._table = table

    def is_sent(self, batch: Batch) -> bool:
        return self._table.has(batch.name)

    def send(self, values: Iterator[T], batch: Batch) -> None:
        # First of all: should another driver send the same, this waits for it, and then fails.
        self._table.add(batch.name)
        while some := list(islice(values, _BATCH_SIZE)):
            self._change.apply(self._connection, some)
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()  # which takes back what was not committed
