"""Errors of the DB-API, and how those of the gateway's client become them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from millrace.cluster.sql_client.errors import (
    GatewayClientError,
    NotAllowedError,
    RefusedError,
    StatementEndedError,
    UnreachableError,
)


class Warning(Exception):
    """Something that went through, but deserves a look.

        >>> issubclass(Warning, Exception)
        True
    """


class Error(Exception):
    """Any error of this driver.

        >>> issubclass(ProgrammingError, Error)
        True
    """


class InterfaceError(Error):
    """The driver was used wrongly: a closed cursor, rows where there are none.

        >>> issubclass(InterfaceError, Error)
        True
    """


class DatabaseError(Error):
    """The gateway, or what runs behind it, has failed.

        >>> issubclass(DatabaseError, Error)
        True
    """


class DataError(DatabaseError):
    """A value can't be what it is to be.

        >>> issubclass(DataError, DatabaseError)
        True
    """


class OperationalError(DatabaseError):
    """The gateway is out of reach, the session is gone, or the statement was cancelled.

        >>> issubclass(OperationalError, DatabaseError)
        True
    """


class IntegrityError(DatabaseError):
    """Keys would not hold; Flink's SQL has none that are enforced, so it is never raised.

        >>> issubclass(IntegrityError, DatabaseError)
        True
    """


class InternalError(DatabaseError):
    """The driver and the gateway misunderstand each other.

        >>> issubclass(InternalError, DatabaseError)
        True
    """


class ProgrammingError(DatabaseError):
    """The statement is wrong, or has failed for what it says.

        >>> issubclass(ProgrammingError, DatabaseError)
        True
    """


class NotSupportedError(DatabaseError):
    """Something that there is not: transactions, changes where only rows are wanted.

        >>> issubclass(NotSupportedError, DatabaseError)
        True
    """


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors of the gateway's client as those of the DB-API."""
    try:
        yield
    except RefusedError as error:
        gone = "does not exist" in str(error) and "Session" in str(error)
        raise (OperationalError if gone else ProgrammingError)(str(error)) from error
    except (UnreachableError, NotAllowedError, StatementEndedError, TimeoutError) as error:
        raise OperationalError(str(error)) from error
    except GatewayClientError as error:
        raise InterfaceError(str(error)) from error
