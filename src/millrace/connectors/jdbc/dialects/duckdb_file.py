"""A file of DuckDB: open only within a transaction, since one process at a time may write to it."""

from __future__ import annotations

import time
from typing import Any

PAUSE = 0.02
"""seconds between two tries to open a file that another process has open"""


def library() -> Any:
    """The module ``duckdb``. :raises ImportError: with the extra that brings it."""
    try:
        import duckdb
    except ImportError:
        raise ImportError("DuckDB needs its Python package: pip install 'millrace-streaming[duckdb]'") from None
    return duckdb


def is_taken(error: BaseException) -> bool:
    """Whether another process has the file open."""
    return "lock" in str(error) and "onflicting" in str(error)


def opened(path: str, seconds: float, read_only: bool = False) -> Any:
    """A connection of DuckDB's.

    :param seconds: how long another process may have the file.
    """
    duckdb = library()
    until = time.monotonic() + seconds
    while True:
        try:
            try:
                found = duckdb.connect(path, read_only=read_only)
            except duckdb.ConnectionException:
                # This process has the file open for writing: it is the same database then.
                found = duckdb.connect(path)
        except duckdb.IOException as error:
            if not is_taken(error) or time.monotonic() > until:
                raise
            time.sleep(PAUSE)
            continue
        found.execute("SET TimeZone = 'UTC'")
        return found


class FileConnection:
    """A connection as PEP 249 describes it: a transaction begins with the first statement, and ends with ``commit`` or
    ``rollback``, which close the file."""

    def __init__(self, path: str, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._open: Any = None

    @property
    def raw(self) -> Any:
        """DuckDB's connection, in a transaction."""
        if self._open is None:
            found = opened(self._path, self._seconds)
            try:
                found.begin()
            except BaseException:
                found.close()
                raise
            self._open = found
        return self._open

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self._end("commit")

    def rollback(self) -> None:
        self._end("rollback")

    def _end(self, how: str) -> None:
        found, self._open = self._open, None
        if found is not None:
            try:
                getattr(found, how)()
            finally:
                found.close()

    def close(self) -> None:
        """Takes back what was not committed."""
        found, self._open = self._open, None
        if found is not None:
            found.close()


class Cursor:
    """Runs statements in the transaction of its connection. DuckDB's own cursors have transactions of their own."""

    def __init__(self, connection: FileConnection) -> None:
        self._connection = connection

    @property
    def description(self) -> Any:
        return self._connection.raw.description

    @property
    def rowcount(self) -> int:
        """How many rows the last statement has changed, which DuckDB gives as its result; -1: that is not known."""
        found = self.fetchall()
        return int(found[0][0]) if len(found) == 1 and isinstance(found[0][0], int) else -1

    def execute(self, statement: str, values: Any = ()) -> None:
        self._connection.raw.execute(statement, list(values))

    def executemany(self, statement: str, rows: Any) -> None:
        made = [list(row) for row in rows]
        if made:
            self._connection.raw.executemany(statement, made)

    def fetchall(self) -> list[Any]:
        found: list[Any] = self._connection.raw.fetchall()
        return found

    def close(self) -> None:
        """Nothing is left of it."""
