"""Type codes of columns, the type objects that they are equal to, and the DB-API's makers of values."""

from __future__ import annotations

import datetime

from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType


class TypeObject:
    """Equal to the type codes of some kinds of columns, as the DB-API asks for."""

    def __init__(self, *families: Family) -> None:
        self._families = frozenset(families)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return other.family in self._families
        return isinstance(other, TypeObject) and other._families == self._families

    def __hash__(self) -> int:
        return hash(self._families)


class TypeCode(str):
    """The type of a column as SQL writes it, such as ``DECIMAL(10, 2)``."""

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
