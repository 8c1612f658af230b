"""The parts of PEP 249 besides connections: errors, type objects, and constructors of values.

``translated`` turns errors of the gateway's client into these.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from millrace.cluster.sql_client import (
    GatewayClientError,
    NotAllowedError,
    RefusedError,
    StatementEndedError,
    UnreachableError,
)
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

# Errors


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
    """A value cannot be represented in the required type.

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
    """The statement is wrong, or has failed because of its content.

    >>> issubclass(ProgrammingError, DatabaseError)
    True
    """


class NotSupportedError(DatabaseError):
    """An unsupported feature: transactions, or changes where only rows are expected.

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


# Type objects


class TypeObject:
    """Equal to the type codes of some kinds of columns, as the DB-API requires."""

    def __init__(self, *families: Family) -> None:
        self._families = frozenset(families)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return other.family in self._families
        return isinstance(other, TypeObject) and other._families == self._families

    def __hash__(self) -> int:
        return hash(self._families)


class TypeCode(str):
    """The type of a column in SQL, such as ``DECIMAL(10, 2)``."""

    family: Family
    data_type: DataType

    @staticmethod
    def of(data_type: DataType) -> TypeCode:
        code = TypeCode(str(data_type.nullable() if not data_type.is_nullable else data_type))
        code.family, code.data_type = family_of(data_type), data_type
        return code

    def __eq__(self, other: object) -> bool:
        return other == self if isinstance(other, TypeObject) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


STRING = TypeObject(Family.TEXT)
BINARY = TypeObject(Family.BYTES)
NUMBER = TypeObject(Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.BOOLEAN)
DATETIME = TypeObject(Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT)
ROWID = TypeObject()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The day of a moment, in this machine's time zone.

    >>> DateFromTicks(1_772_706_600) == __import__("datetime").date.fromtimestamp(1_772_706_600)
    True
    """
    return datetime.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> datetime.time:
    """The time of day of a moment, in this machine's time zone.

    >>> TimeFromTicks(1_772_706_600).second
    0
    """
    return datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """A moment, in this machine's time zone.

    >>> TimestampFromTicks(1_772_706_600).year
    2026
    """
    return datetime.datetime.fromtimestamp(ticks)
