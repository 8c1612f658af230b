"""What to do to a table with the elements of a stream: ``DbApiInsert`` and ``DbApiUpsert``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.types import Row
from millrace.connectors.dbapi.connection import bind, driver_of, escaped, param_style, placeholders
from millrace.connectors.dbapi.names import MYSQL, TableName, quote_mark, quoted, quoted_table
from millrace.connectors.dbapi.statements import UpsertNames, UpsertStatements
from millrace.connectors.upsert import is_deletion, last_per_key

__all__ = ["Change", "DbApiInsert", "DbApiUpsert"]

T = TypeVar("T")

_ON_CONFLICT = ("sqlite3", "psycopg", "psycopg2", "pg8000", "duckdb")


class Change(ABC, Generic[T]):
    """Turns elements into statements, within the transaction that the sink ends."""

    @abstractmethod
    def apply(self, connection: Any, elements: Sequence[T]) -> None: ...


def fields_of(element: Any) -> Any:
    """The element as parameters: a dict as it is, a tuple, list or Row as a tuple, all else as the only one."""
    if isinstance(element, dict):
        return element
    return tuple(element) if isinstance(element, (tuple, list, Row)) else (element,)


@dataclass(frozen=True)
class DbApiInsert(Change[T]):
    """Execute a statement with the values of each element; mostly an INSERT."""

    statement: str
    """with parameters in the driver's own way: ``INSERT INTO words VALUES (?, ?)``"""
    values_of: Callable[[T], Any] = fields_of
    """element -> the statement's parameters; by default the element's own fields"""

    def apply(self, connection: Any, elements: Sequence[T]) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.executemany(self.statement, [self.values_of(element) for element in elements])


@dataclass(frozen=True)
class DbApiUpsert(Change[T]):
    """Keep one row per key: insert, update or delete it. Of several changes of a key the last one wins.

    Names of table and columns are quoted as the database does: they are written as it stores them (PostgreSQL: in small
    letters, unless the table was made with quotes).
    """

    table: TableName
    """``table`` or ``schema.table``; a tuple of the parts if they have dots themselves"""
    columns: Sequence[str]
    key_columns: Sequence[str]
    """some of the columns; the table has a unique index on them"""
    values_of: Callable[[T], Sequence[Any]] | None = None
    """element -> the values of all columns; by default by name (a dict, a Row with names) or in their order"""
    is_deletion: Callable[[T], bool] = is_deletion
    """by default rows of the kinds DELETE and UPDATE_BEFORE; only their key has to be there"""
    upsert_statement: Callable[[Sequence[str]], str] | None = None
    """marks of the parameters, one for each column -> the statement; by default what the driver's database knows"""
    param_style: str | None = None
    """one of PEP 249; by default what the driver's module says"""
    quote: str | None = None
    """what names are quoted with; by default what the driver's database takes; "": not at all, as for databases that
    would not find them in small letters"""
    _keys: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = list(self.columns)
        unknown = [column for column in self.key_columns if column not in columns]
        if unknown or not self.key_columns:
            raise ValueError(f"key_columns must be some of the columns {columns}, got {list(self.key_columns)}")
        for mark in ('"',) if self.quote is None else (self.quote,):
            quoted_table(self.table, mark)  # what is no name shows here
            for column in columns:
                quoted(column, mark)
        object.__setattr__(self, "_keys", tuple(columns.index(column) for column in self.key_columns))

    def apply(self, connection: Any, elements: Sequence[T]) -> None:
        style = self.param_style or param_style(connection)
        statements = self._statements(connection, style)
        changes = last_per_key(elements, self._key)
        upserts = [self._values(element) for element in changes.values() if not self.is_deletion(element)]
        deletes: list[Any] = [key for key, element in changes.items() if self.is_deletion(element)]
        if statements.delete_first:  # in one transaction nobody sees the gap
            deletes += [[row[place] for place in self._keys] for row in upserts]
        with closing(connection.cursor()) as cursor:
            if deletes:
                cursor.executemany(statements.delete, [bind(style, key) for key in deletes])
            if upserts:
                cursor.executemany(statements.upsert, [bind(style, row) for row in upserts])

    def _statements(self, connection: Any, style: str) -> UpsertStatements:
        mark = quote_mark(connection) if self.quote is None else self.quote
        marks = placeholders(style, len(self.columns))
        names = UpsertNames(
            escaped(quoted_table(self.table, mark), style),
            [escaped(quoted(column, mark), style) for column in self.columns],
            [escaped(quoted(column, mark), style) for column in self.key_columns],
        )
        delete = names.delete(placeholders(style, len(self._keys)))
        if self.upsert_statement is not None:
            return UpsertStatements(delete, self.upsert_statement(marks))
        driver = driver_of(connection)
        if driver in _ON_CONFLICT:
            return UpsertStatements(delete, names.on_conflict(marks))
        if driver in MYSQL:
            return UpsertStatements(delete, names.on_duplicate_key(marks))
        return UpsertStatements(delete, names.insert(marks), delete_first=True)  # any SQL database

    def _key(self, element: T) -> tuple[Any, ...]:
        if self.values_of is None and _has_names(element):
            key = tuple(element[column] for column in self.key_columns)  # type: ignore[index]
        else:
            values = self._values(element)
            key = tuple(values[place] for place in self._keys)
        if None in key:
            raise ValueError(f"{self.table}: a key must not be None, got {dict(zip(self.key_columns, key))}")
        return key

    def _values(self, element: T) -> Sequence[Any]:
        if self.values_of is not None:
            values = self.values_of(element)
        elif _has_names(element):
            return [element[column] for column in self.columns]  # type: ignore[index]
        else:
            values = fields_of(element)
        if len(values) != len(self.columns):
            raise ValueError(f"{self.table} has the columns {list(self.columns)}, but there are the values {values!r}")
        return values


def _has_names(element: Any) -> bool:
    return isinstance(element, dict) or (isinstance(element, Row) and element._fields is not None)
