"""What to do to a table with the elements of a stream: ``DbApiInsert`` and ``DbApiUpsert``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.types import Row
from millrace.connectors.dbapi.connection import bind, driver_of, param_style, placeholders
from millrace.connectors.upsert import is_deletion, last_per_key

__all__ = ["Change", "DbApiInsert", "DbApiUpsert"]

T = TypeVar("T")

_ON_CONFLICT = ("sqlite3", "psycopg", "psycopg2", "pg8000", "duckdb")
_ON_DUPLICATE_KEY = ("pymysql", "MySQLdb", "mysql", "mariadb")


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

    Names of table and columns go into the statements as they are: quote those that need it.
    """

    table: str
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
    _keys: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = list(self.columns)
        unknown = [column for column in self.key_columns if column not in columns]
        if unknown or not self.key_columns:
            raise ValueError(f"key_columns must be some of the columns {columns}, got {list(self.key_columns)}")
        object.__setattr__(self, "_keys", tuple(columns.index(column) for column in self.key_columns))

    def apply(self, connection: Any, elements: Sequence[T]) -> None:
        style = self.param_style or param_style(connection)
        changes = last_per_key(elements, self._key)
        upserts = [self._values(element) for element in changes.values() if not self.is_deletion(element)]
        deletes: list[Any] = [key for key, element in changes.items() if self.is_deletion(element)]
        with closing(connection.cursor()) as cursor:
            if deletes:
                cursor.executemany(self._delete(style), [bind(style, key) for key in deletes])
            if upserts:
                self._upsert(cursor, style, driver_of(connection), upserts)

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

    def _delete(self, style: str) -> str:
        return f"DELETE FROM {self.table} WHERE {_equal(self.key_columns, placeholders(style, len(self._keys)))}"

    def _upsert(self, cursor: Any, style: str, driver: str, rows: list[Sequence[Any]]) -> None:
        marks = placeholders(style, len(self.columns))
        insert = f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES ({', '.join(marks)})"
        if self.upsert_statement is not None:
            statement = self.upsert_statement(marks)
        elif driver in _ON_CONFLICT:
            statement = f"{insert} ON CONFLICT ({', '.join(self.key_columns)}) {self._on_conflict()}"
        elif driver in _ON_DUPLICATE_KEY:
            statement = f"{insert} ON DUPLICATE KEY UPDATE {_set(self._updated() or self.key_columns, 'VALUES({})')}"
        else:  # any SQL database; in one transaction nobody sees the gap
            statement = insert
            keys = [bind(style, [row[place] for place in self._keys]) for row in rows]
            cursor.executemany(self._delete(style), keys)
        cursor.executemany(statement, [bind(style, row) for row in rows])

    def _on_conflict(self) -> str:
        updated = self._updated()
        return f"DO UPDATE SET {_set(updated, 'excluded.{}')}" if updated else "DO NOTHING"

    def _updated(self) -> list[str]:
        return [column for column in self.columns if column not in self.key_columns]


def _has_names(element: Any) -> bool:
    return isinstance(element, dict) or (isinstance(element, Row) and element._fields is not None)


def _equal(columns: Sequence[str], marks: Sequence[str]) -> str:
    return " AND ".join(f"{column} = {mark}" for column, mark in zip(columns, marks))


def _set(columns: Sequence[str], source: str) -> str:
    return ", ".join(f"{column} = {source.format(column)}" for column in columns)
