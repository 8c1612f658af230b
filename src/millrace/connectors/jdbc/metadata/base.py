"""``Metadata``: the questions that a catalog asks a database."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.relational.types import DataType


@dataclass(frozen=True)
class ColumnFound:
    """A column of a table."""

    name: str
    native: str
    """its type, in the database's words"""
    type: DataType
    """what reads and writes it"""


@dataclass(frozen=True)
class KeyFound:
    """A primary key."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ColumnFacts:
    """About how the values of a column are; None: the database has not counted."""

    nulls: int | None = None
    distinct: int | None = None
    average_length: float | None = None
    """bytes"""
    least: str | None = None
    """as a text of the database"""
    greatest: str | None = None


class Metadata(ABC):
    """One kind of database. Names of tables are those of the option 'table-name'."""

    @abstractmethod
    def databases(self, connection: Any) -> list[str]: ...

    @abstractmethod
    def tables(self, connection: Any) -> list[str]:
        """Tables and views of the database that the connection is to."""

    def full_name(self, table: str) -> str:
        """A name in the form of ``tables``."""
        return table

    @abstractmethod
    def columns(self, connection: Any, table: str) -> list[ColumnFound]:
        """In their order; empty if there is no such table."""

    @abstractmethod
    def key(self, connection: Any, table: str) -> KeyFound | None: ...

    @abstractmethod
    def rows(self, connection: Any, table: str) -> int | None:
        """About how many; None: the database does not know yet."""

    def statistics(self, connection: Any, table: str) -> dict[str, ColumnFacts]:
        """What the database has counted in columns when it looked last; only those that it knows something of."""
        return {}

    def create_database(self, name: str) -> str:
        """:raises ValueError: there is only one."""
        return f"CREATE DATABASE {name}"

    def drop_database(self, name: str) -> str:
        """:raises ValueError: there is only one."""
        return f"DROP DATABASE {name}"


def asked(connection: Any, query: str, *values: Any) -> list[Any]:
    """The rows of a query."""
    with closing(connection.cursor()) as cursor:
        if values:
            cursor.execute(query, values)
        else:
            cursor.execute(query)
        return list(cursor.fetchall())


def sized(native: str) -> tuple[str, Sequence[int]]:
    """``numeric(10,2)`` as its name and its numbers; what is behind the brackets belongs to the name."""
    name, bracket, rest = native.partition("(")
    inside, _, behind = rest.partition(")")
    numbers = [int(each) for each in inside.split(",")] if bracket and re.fullmatch(r"[\d, ]*\d[\d, ]*", inside) else []
    return f"{name.strip()} {behind.strip()}".strip().lower(), numbers
