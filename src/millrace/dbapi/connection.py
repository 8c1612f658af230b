"""A connection: a session at a SQL gateway."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from millrace.cluster.sql_client.session import HEARTBEAT_SECONDS, RemoteSession
from millrace.dbapi import errors
from millrace.dbapi.changes import Changes
from millrace.dbapi.cursor import Cursor
from millrace.dbapi.errors import InterfaceError, NotSupportedError, translated


class Connection:
    """Threads may share it; its statements run one after the other.

        >>> try:
        ...     with connect("http://localhost:1", timeout=1) as connection:
        ...         rows = connection.execute("SHOW TABLES").fetchall()
        ... except OperationalError:
        ...     print("no gateway listens there")
        no gateway listens there
    """

    Warning, Error = errors.Warning, errors.Error
    InterfaceError, DatabaseError, DataError = errors.InterfaceError, errors.DatabaseError, errors.DataError
    OperationalError, IntegrityError = errors.OperationalError, errors.IntegrityError
    InternalError, ProgrammingError = errors.InternalError, errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

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
        """Nothing happens: there are no transactions, each statement counts by itself."""
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
        """Queries end; what INSERT has started goes on."""
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
        millrace.dbapi.errors.OperationalError: ...

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
