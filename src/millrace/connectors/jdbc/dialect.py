"""``Dialect`` and ``Metadata``: the differences between kinds of database, for the connector and for the catalog.

``Target`` is the address of a database with the user's credentials. A dialect has no state: it travels with plans into
the tasks, and imports its driver when it connects.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millrace.connectors.dbapi import Connection, quoted, quoted_table
from millrace.connectors.stores import ConnectionFailed
from millrace.relational.rex import Schema
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.util.secrets import mask_text

CONNECT_SECONDS = 30.0


@dataclass(frozen=True)
class Target:
    """A database as a ``jdbc:`` URL and the options beside it name it."""

    hosts: tuple[tuple[str, int], ...]
    """tried in this order; none for SQLite"""
    database: str
    """name of the database; for SQLite the path of its file"""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """properties for the driver, from the URL and from ``properties.*``"""
    timeout: float = CONNECT_SECONDS
    """seconds within which a connection has to be made"""

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{hosts}/{self.database}" if hosts else self.database

    def masked(self, error: BaseException) -> str:
        """What an error says, without the password."""
        said = mask_text(str(error).strip())
        return said.replace(self.password, "******") if self.password else said


@dataclass(frozen=True)
class TableShape:
    """A table that is written: its name, columns and key, all as the database spells them."""

    table: str
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def key_places(self) -> tuple[int, ...]:
        return tuple(self.columns.index(key) for key in self.keys)


class Dialect(ABC):
    """A kind of database. Has no state: instances travel with plans into the tasks."""

    title: str
    """name of the kind of database, for messages"""
    mark = '"'
    """the character around quoted names"""
    families: frozenset[Family]
    """the kinds of values that its columns can have; arrays are asked about their elements, too"""
    style = "format"
    """how the driver marks parameters: one of PEP 249's"""
    text_is_exact = True
    """whether ``=`` on texts tells small letters from capitals: then ``<>`` does as well"""

    aggregated: frozenset[Family] = frozenset()
    """kinds of values whose SUM, MIN and MAX are the same in the database and in Millrace"""
    grouped: frozenset[Family] = frozenset()
    """kinds of values that are equal in the database whenever they are equal in Millrace"""
    sums_any = True
    """whether the database's sums of whole numbers are exact, however large"""
    checks_types = True
    """whether all values of a column are of the column's type"""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    # -- connections --------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, target: Target) -> Any:
        """A connection of the driver, whose transactions end with ``commit()``. Raises the driver's errors."""

    def connect(self, target: Target) -> Any:
        """:raises ConnectionFailed: with the place and the reason, and without the password.
        :raises ImportError: the driver is not installed.
        """
        try:
            return self.open(target)
        except ImportError:
            raise
        except Exception as error:
            user = f" as {target.user}" if target.user else ""
            message = f"{self.title} at {target.place}{user}: {target.masked(error) or type(error).__name__}"
            raise ConnectionFailed(message, self.is_passing(error)) from None

    @abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Whether the same may work a moment later: the connection is lost, or two transactions met."""

    # -- names and types ----------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        return quoted(name, self.mark)

    def compared(self, name: str, kind: DataType) -> str:
        """A column in an aggregate or in GROUP BY."""
        return self.name(name)

    def table(self, name: str) -> str:
        """``table`` or ``schema.table``."""
        return quoted_table(name, self.mark)

    def problem(self, columns: Schema) -> str | None:
        """What is wrong with columns of a table, None for nothing."""
        wrong = next((column for column in columns if not self._has(column.type)), None)
        return None if wrong is None else f"column '{wrong.name}': {self.title} has no columns of type {wrong.type}"

    def _has(self, kind: DataType) -> bool:
        family = family_of(kind)
        element = getattr(kind, "element_type", None) if family is Family.ARRAY else None
        return family in self.families and (element is None or self._has(element))

    @abstractmethod
    def literal(self, value: Any, kind: DataType) -> str | None:
        """A constant as the database compares its columns with; None: leave it to us."""

    def parameter(self, value: Any) -> Any:
        """A value as the driver takes it for a parameter."""
        return value

    # -- reading ------------------------------------------------------------------------------------------------

    def selected(self, name: str, kind: DataType) -> str:
        """A column in a SELECT, so that ``batches`` can make the type of it."""
        return self.name(name)

    @abstractmethod
    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        """The rows of a query in columns of these types, some at a time; nothing larger than that is held here.

        :param fetch: rows of a batch, 0 for what suits the driver.
        """

    @abstractmethod
    def find(
        self,
        connection: Connection,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]] | None:
        """Rows of a table with one of some keys, in one statement: (number of the key, row as the driver has it).

        :param wanted: what is behind SELECT, of the table's columns.
        :param table: its name, quoted.
        :param values: of the key columns, none NULL; a key may be asked for once only.
        :returns: None: it is not clear which key each row was found by; ask for them one by one.
        """

    @abstractmethod
    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        """What ``find`` gives as columns of values in the Python form of their types."""

    # -- writing ------------------------------------------------------------------------------------------------

    @abstractmethod
    def append(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        """Insert rows, within the transaction at hand."""

    @abstractmethod
    def upsert(
        self, connection: Connection, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        """Insert or replace rows, no two with the same key."""

    @abstractmethod
    def delete(
        self, connection: Connection, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        """Delete the rows that have these keys."""


@dataclass(frozen=True)
class ColumnFound:
    """A column of a table in the database."""

    name: str
    native: str
    """the database's name for the column's type"""
    type: DataType
    """the data type that the column is read and written as"""


@dataclass(frozen=True)
class KeyFound:
    """A primary key."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ColumnFacts:
    """Estimated statistics of a column; None: the database has none."""

    nulls: int | None = None
    distinct: int | None = None
    average_length: float | None = None
    """bytes"""
    least: str | None = None
    """the minimum, as the database's text; ``greatest``: the maximum"""
    greatest: str | None = None


class Metadata(ABC):
    """One kind of database. Names of tables are those of the option 'table-name'."""

    @abstractmethod
    def databases(self, connection: Connection) -> list[str]: ...

    @abstractmethod
    def tables(self, connection: Connection) -> list[str]:
        """Tables and views of the database that the connection is to."""

    def full_name(self, table: str) -> str:
        """A name in the form of ``tables``."""
        return table

    @abstractmethod
    def columns(self, connection: Connection, table: str) -> list[ColumnFound]:
        """In their order; empty if there is no such table."""

    @abstractmethod
    def key(self, connection: Connection, table: str) -> KeyFound | None: ...

    @abstractmethod
    def rows(self, connection: Connection, table: str) -> int | None:
        """About how many; None: the database does not know yet."""

    def statistics(self, connection: Connection, table: str) -> dict[str, ColumnFacts]:
        """What the database has counted in columns when it looked last; only those that it knows something of."""
        return {}

    def create_database(self, name: str) -> str:
        """:raises ValueError: there is only one."""
        return f"CREATE DATABASE {name}"

    def drop_database(self, name: str) -> str:
        """:raises ValueError: there is only one."""
        return f"DROP DATABASE {name}"


def query_rows(connection: Connection, query: str, *values: Any) -> list[Any]:
    """The rows of a query."""
    with closing(connection.cursor()) as cursor:
        if values:
            cursor.execute(query, values)
        else:
            cursor.execute(query)
        return list(cursor.fetchall())


def sized_type(native: str) -> tuple[str, Sequence[int]]:
    """``numeric(10,2)`` as its name and its numbers; what is behind the brackets belongs to the name."""
    name, bracket, rest = native.partition("(")
    inside, _, behind = rest.partition(")")
    numbers = [int(each) for each in inside.split(",")] if bracket and re.fullmatch(r"[\d, ]*\d[\d, ]*", inside) else []
    return f"{name.strip()} {behind.strip()}".strip().lower(), numbers
