"""Connections and cursors: a connection is a session in a SQL gateway; its cursors run statements and return rows."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from millrace.cluster.sql_client import HEARTBEAT_SECONDS, Header, RemoteSession, RemoteStatement
from millrace.common.types import Row, RowKind
from millrace.dbapi import standard
from millrace.dbapi.parameters import filled
from millrace.dbapi.standard import InterfaceError, NotSupportedError, ProgrammingError, TypeCode, translated
from millrace.relational import types as t
from millrace.relational.nodes import Field

# Changes of a stream


class Changes(enum.Enum):
    """How the changes of a streaming query are returned."""

    INSERTIONS = "insertions"
    """rows only; a change of an earlier row is an error"""
    KINDS = "kinds"
    """each change as a row, with its kind in a first column ``op``: +I, -U, +U, -D"""

    @staticmethod
    def of(text: str) -> Changes:
        """Parse the name of a mode.

        :raises ValueError: there is no such mode.
        """
        try:
            return Changes(text.lower())
        except ValueError:
            raise ValueError(f"changes is 'insertions' or 'kinds', not {text!r}") from None


# Cursors

Record = tuple[Any, ...]
Description = tuple[str, TypeCode, None, "int | None", "int | None", "int | None", bool]

KIND = Field("op", t.VarCharType(2, False))
"""the first column of rows that are changes"""


class Cursor:
    """Runs statements one after the other; returns the rows of the last one.

    >>> try:
    ...     with connect("http://localhost:1", timeout=1).cursor() as cursor:
    ...         cursor.execute("SELECT name FROM orders WHERE amount > ?", [3])
    ...         first, others = cursor.fetchone(), cursor.fetchall()
    ...         cursor.executemany("INSERT INTO names VALUES (?)", [first, *others])
    ... except OperationalError:
    ...     print("no gateway listens there")
    no gateway listens there
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.changes = connection.changes
        """how the changes of a streaming query are returned; takes effect with the next statement"""
        self.job_id: str | None = None
        """id of the job that the last statement has started"""
        self._statement: RemoteStatement | None = None
        self._header: Header | None = None
        self._rows: Iterator[Record] | None = None
        self._count = -1
        self._number: int | None = None
        self._description: list[Description] | None = None
        self._closed = False

    # -- what it has --------------------------------------------------------------------------------------------

    @property
    def description(self) -> list[Description] | None:
        """(name, type code, None, length, precision, scale, can be NULL) of each column; None: no rows."""
        return self._description

    @property
    def rowcount(self) -> int:
        """Number of rows that an INSERT has written, with ``table.dml-sync``; -1: unknown."""
        return self._count

    @property
    def rownumber(self) -> int | None:
        """Index of the next row, from 0; None: no rows."""
        return self._number

    # -- statements ---------------------------------------------------------------------------------------------

    def execute(self, operation: str, parameters: Sequence[Any] | None = None) -> Cursor:
        """Run a statement and wait until it is over or its rows begin to come.

        An INSERT is over when its job has started; with the setting ``table.dml-sync``, when the job has ended.

        :param parameters: values for each ``?``; None: the statement is run as it is.
        """
        self._require_open()
        self._let_go()
        text = operation if parameters is None else filled(operation, parameters)
        with translated():
            self._statement = self.connection._session.submit(text, seconds=self.connection.statement_timeout)
            try:
                self._header = self._statement.header()
            except BaseException:
                # Ctrl-C in the middle ends what it waits for.
                self._statement.cancel()
                self._statement.close()
                raise
        self._take(self._statement, self._header)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> Cursor:
        """Run a statement once for each of the sequences. It must not give rows."""
        total: int | None = 0
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)
            if self._description is not None:
                self._let_go()
                raise ProgrammingError("executemany is for statements without rows: use execute")
            total = None if total is None or self._count < 0 else total + self._count
        self._count = -1 if total is None else total
        return self

    def _take(self, statement: RemoteStatement, header: Header) -> None:
        self.job_id = header.job_id
        if header.has_content and (header.is_query or header.job_id is None):
            with_kinds = self.changes is Changes.KINDS and header.is_query
            columns = [KIND, *header.columns] if with_kinds else list(header.columns)
            self._description, self._number = [_described(column) for column in columns], 0
            self._rows = map(_shown(self.changes) if header.is_query else tuple, statement.rows())
            return
        with translated():
            counts = [value for row in statement.rows() for value in row]
        if header.job_id is not None and counts and all(isinstance(each, int) and each >= 0 for each in counts):
            self._count = sum(counts)
        statement.close()
        self._statement = None

    # -- rows ---------------------------------------------------------------------------------------------------

    def fetchone(self) -> Record | None:
        """The next row; None: there are no more. It waits for rows of a stream."""
        rows = self._require_rows()
        with translated():
            row = next(rows, None)
        if row is not None:
            assert self._number is not None, "there are rows"
            self._number += 1
        return row

    def fetchmany(self, size: int | None = None) -> list[Record]:
        """Fetch up to ``size`` rows; fewer only at the end of the result. Waits until that many have arrived."""
        wanted = self.arraysize if size is None else size
        found: list[Record] = []
        while len(found) < wanted and (row := self.fetchone()) is not None:
            found.append(row)
        return found

    def fetchall(self) -> list[Record]:
        """Fetch all remaining rows. A query over an unbounded stream never ends: iterate over the cursor then."""
        return list(self)

    def __iter__(self) -> Cursor:
        return self

    def __next__(self) -> Record:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing: sizes of parameters are not needed."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: sizes of columns are not needed."""

    def callproc(self, procname: str, parameters: Sequence[Any] = ()) -> Any:
        """:raises NotSupportedError: always; CALL is a statement."""
        raise NotSupportedError("there is no callproc: execute a CALL")

    def nextset(self) -> bool | None:
        """None: a statement has one result."""
        return None

    # -- its end ------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel the running statement; any thread may call it. Rows that have arrived can still be fetched."""
        statement = self._statement
        if statement is not None:
            with translated():
                statement.cancel()
                statement.close()

    def close(self) -> None:
        """Close the cursor; the job of a query ends."""
        if not self._closed:
            self._let_go()
            self._closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    def _let_go(self) -> None:
        statement, self._statement = self._statement, None
        self._header = self._rows = self._description = self._number = self.job_id = None
        self._count = -1
        if statement is not None and not self.connection.closed:
            statement.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._require_open()

    def _require_rows(self) -> Iterator[Record]:
        self._require_open()
        if self._rows is None:
            raise InterfaceError("there are no rows: no statement was executed, or the last one gives none")
        return self._rows


def _described(column: Field) -> Description:
    kind: Any = column.type
    length = getattr(kind, "length", None)
    precision, scale = getattr(kind, "precision", None), getattr(kind, "scale", None)
    return (column.name, TypeCode.of(kind), None, length, precision, scale, kind.is_nullable)


def _shown(changes: Changes) -> Callable[[Row], Record]:
    return _with_kind if changes is Changes.KINDS else _inserted


def _with_kind(row: Row) -> Record:
    return (str(row.get_row_kind()), *row)


def _inserted(row: Row) -> Record:
    if row.get_row_kind() is not RowKind.INSERT:
        raise NotSupportedError(
            f"the query changes rows that it gave before ({row.get_row_kind()}): connect with changes='kinds' to get "
            "every change with its kind in front, or with properties={'execution.runtime-mode': 'batch'} to get the "
            "result at the end"
        )
    return tuple(row)


# Connections


class Connection:
    """A session in a gateway. Threads may share it; its statements run one after the other.

    >>> try:
    ...     with connect("http://localhost:1", timeout=1) as connection:
    ...         rows = connection.execute("SHOW TABLES").fetchall()
    ... except OperationalError:
    ...     print("no gateway listens there")
    no gateway listens there
    """

    Warning, Error = standard.Warning, standard.Error
    InterfaceError, DatabaseError, DataError = standard.InterfaceError, standard.DatabaseError, standard.DataError
    OperationalError, IntegrityError = standard.OperationalError, standard.IntegrityError
    InternalError, ProgrammingError = standard.InternalError, standard.ProgrammingError
    NotSupportedError = standard.NotSupportedError

    def __init__(self, session: RemoteSession, changes: Changes, statement_timeout: float | None) -> None:
        self._session = session
        self.changes = changes
        self.statement_timeout = statement_timeout

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._session.is_closed

    def cursor(self) -> Cursor:
        """A cursor for statements on this connection."""
        self._require_open()
        return Cursor(self)

    def execute(self, operation: str, parameters: Any = None) -> Cursor:
        """Run a statement on a new cursor."""
        return self.cursor().execute(operation, parameters)

    def commit(self) -> None:
        """Does nothing: there are no transactions, and each statement takes effect by itself."""
        self._require_open()

    def rollback(self) -> None:
        """:raises NotSupportedError: always, as there are no transactions."""
        raise NotSupportedError("there are no transactions: what a statement has done stays")

    def properties(self) -> dict[str, str]:
        """The settings of the session; secrets are masked."""
        self._require_open()
        with translated():
            return self._session.properties()

    def ping(self) -> None:
        """Keep the session alive.

        :raises OperationalError: the gateway is out of reach, or has closed the session.
        """
        self._require_open()
        with translated():
            self._session.heartbeat()

    def close(self) -> None:
        """Close the session: its queries end, the jobs of its INSERTs continue."""
        self._session.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if self.closed:
            raise InterfaceError("the connection is closed")


def connect(
    url: str,
    token: str | None = None,
    properties: Mapping[str, str] | None = None,
    *,
    changes: str = Changes.INSERTIONS.value,
    timeout: float = 60.0,
    statement_timeout: float | None = None,
    heartbeat: float | None = HEARTBEAT_SECONDS,
    transport: Any = None,
) -> Connection:
    """Open a session at a gateway.

        >>> connect("http://localhost:1/", timeout=1)
        Traceback (most recent call last):
            ...
        millrace.dbapi.standard.OperationalError: ...

    :param url: ``http://host:port``, or ``host:port``.
    :param token: that the gateway asks for.
    :param properties: settings that the session begins with, such as ``execution.runtime-mode``.
    :param changes: of queries over streams: ``insertions`` (changes of rows that were given before are an error) or
        ``kinds`` (every change, with its kind in front).
    :param timeout: seconds that an answer of the gateway may take.
    :param statement_timeout: seconds after which the gateway ends a statement that has no result; None: never.
    :param heartbeat: seconds between signs of life, without which the gateway closes the session; None: no such signs.
    :param transport: of httpx, for certificates of your own and for tests.
    """
    try:
        way = Changes.of(changes)
        with translated():
            session = RemoteSession(url, token, properties, timeout=timeout, heartbeat=heartbeat, transport=transport)
    except ValueError as error:
        raise InterfaceError(str(error)) from None
    return Connection(session, way, statement_timeout)
