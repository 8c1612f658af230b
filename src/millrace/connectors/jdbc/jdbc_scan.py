"""Reading tables of a database: in parts (``JdbcRowsSource``), by keys (``JdbcLookup``), with pushed conditions.

Conditions in SQL leave out no row that is wanted. All of them are checked again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.jdbc_database import Database
from millrace.connectors.stores import Buffering, Found, Partitions, PartsSource, StoreLookup
from millrace.relational.rex import Call, Literal, Ref, Rex, Schema, walk
from millrace.relational.rows import Rows, record_batch
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, IntType
from millrace.relational.values import to_arrow

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED = (Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP, Family.INSTANT)


class Sql(Protocol):
    """How a database writes names and constants; None: leave it to us."""

    text_is_exact: bool
    """whether ``=`` on texts tells small letters from capitals: then ``<>`` does as well"""

    def name(self, name: str) -> str | None: ...

    def literal(self, value: Any, kind: DataType) -> str | None: ...


def conditions(filters: Sequence[Rex], columns: Schema, dialect: Sql) -> tuple[str, ...]:
    """As much of the filters as the database can check."""
    return tuple(found for each in filters if (found := _condition(each, columns, dialect)) is not None)


def exact_condition(rex: Rex, columns: Schema, dialect: Sql) -> str | None:
    """A condition that holds in the database for the very rows that it holds for here; None: there may be others."""
    if isinstance(rex, Call) and rex.function in ("AND", "OR"):
        parts = [exact_condition(each, columns, dialect) for each in rex.args]
        return None if None in parts else f"({f' {rex.function} '.join(map(str, parts))})"
    texts = any(isinstance(part, Ref) and family_of(part.type) is Family.TEXT for part in walk(rex))
    nulls = isinstance(rex, Call) and rex.function in ("IS NULL", "IS NOT NULL")
    if texts and not (nulls or dialect.text_is_exact):
        return None
    return _condition(rex, columns, dialect)


def all_of(filters: Sequence[Rex], columns: Schema, dialect: Sql) -> tuple[str, ...] | None:
    """The filters in SQL if the database lets the very same rows through each one, else None."""
    found = [exact_condition(each, columns, dialect) for each in filters]
    return None if None in found else tuple(map(str, found))


def _condition(rex: Rex, columns: Schema, dialect: Sql) -> str | None:
    if not isinstance(rex, Call):
        return None
    if rex.function == "AND":
        parts = [found for each in rex.args if (found := _condition(each, columns, dialect)) is not None]
        return f"({' AND '.join(parts)})" if parts else None
    if rex.function == "OR":
        all_parts = [_condition(each, columns, dialect) for each in rex.args]
        return None if None in all_parts else f"({' OR '.join(map(str, all_parts))})"
    if rex.function in ("IS NULL", "IS NOT NULL") and isinstance(rex.args[0], Ref):
        name = _column_name(rex.args[0], columns, dialect)
        return None if name is None else f"{name} {rex.function}"
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        bounds = [_comparison(">=", value, low, columns, dialect), _comparison("<=", value, high, columns, dialect)]
        return None if None in bounds else f"({' AND '.join(map(str, bounds))})"
    if rex.function == "IN":
        value, *choices = rex.args
        each_one = [_comparison("=", value, choice, columns, dialect) for choice in choices]
        return None if None in each_one else f"({' OR '.join(map(str, each_one))})"
    if rex.function in _MIRRORED and len(rex.args) == 2:
        return _comparison(rex.function, *rex.args, columns, dialect)
    return None


def _comparison(function: str, left: Rex, right: Rex, columns: Schema, dialect: Sql) -> str | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal):
        return None
    name, kind = _column_name(left, columns, dialect), left.type
    if name is None or not _means_the_same(function, kind, right.type, dialect):
        return None
    if function == "<>" and isinstance(right.value, str) and right.value.endswith(" "):
        return None  # blanks at the end count for nothing in a text of a fixed length, which is read without them
    literal = dialect.literal(right.value, right.type)
    return None if literal is None else f"{name} {function} {literal}"


def _means_the_same(function: str, kind: DataType, other: DataType, dialect: Sql) -> bool:
    family = family_of(kind)
    if family is not family_of(other) and not {family, family_of(other)} <= {Family.INTEGER, Family.DECIMAL}:
        return False
    if family in _ORDERED:
        return True
    # Databases put texts in an order of their own.
    return family is Family.TEXT and (function == "=" or (function == "<>" and dialect.text_is_exact))


def _column_name(ref: Ref, columns: Schema, dialect: Sql) -> str | None:
    return dialect.name(columns[ref.index].name) if ref.index < len(columns) else None


@dataclass(frozen=True)
class Query:
    """A query that reads rows of a table."""

    table: str
    columns: Schema
    """the columns that are read"""
    conditions: tuple[str, ...] = ()
    """conditions, in the database's SQL"""
    fetch: int = 0
    limit: int | None = None
    """the most rows that are needed; None: all"""

    def text(self, database: Database) -> str:
        dialect = database.dialect
        wanted = ", ".join(dialect.selected(column.name, column.type) for column in self.columns) or "1"
        where = f" WHERE {' AND '.join(f'({each})' for each in self.conditions)}" if self.conditions else ""
        end = "" if self.limit is None else f" LIMIT {self.limit}"
        return f"SELECT {wanted} FROM {self.source(database)}{where}{end}"

    def source(self, database: Database) -> str:
        """The text after FROM."""
        return database.dialect.table(self.table)

    def batches(self, database: Database) -> Iterator[Rows]:
        """:raises RuntimeError: the database refuses, or has what the declared types cannot hold."""
        kinds = [column.type for column in self.columns]
        try:
            for batch in database.dialect.batches(
                database.target, self.text(database), kinds or [IntType()], self.fetch
            ):
                yield Rows(record_batch(batch.columns if kinds else [], len(batch)))
        except (ImportError, GeneratorExit):
            raise
        except Exception as error:
            where = f"{database.dialect.title} at {database.target.place}, table {self.table}"
            raise RuntimeError(f"{where}: {database.target.masked(error)}") from None


@dataclass(frozen=True)
class JdbcSplit:
    """A part of a table that is still to be read."""

    split_id: str
    condition: str | None = None


class JdbcRowsSource(PartsSource[Rows, JdbcSplit]):
    """Reads a table, a query for each part."""

    def __init__(self, database: Database, query: Query, partitions: Partitions | None = None) -> None:
        self._database = database
        self._query = query
        self._partitions = partitions

    def parts(self) -> list[JdbcSplit]:
        if self._partitions is None:
            return [JdbcSplit("0")]
        conditions = self._partitions.conditions(self._database.dialect.name(self._partitions.column))
        return [JdbcSplit(str(number), condition) for number, condition in enumerate(conditions)]

    def elements(self, part: JdbcSplit) -> Iterator[Rows]:
        query = self._query
        if part.condition is not None:
            query = replace(query, conditions=(*query.conditions, part.condition))
        return query.batches(self._database)


class JdbcLookup(StoreLookup):
    """Asks a table for the rows of keys.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(database, options, asking)
        self._database = database
        self._name = name
        self._columns = columns
        self._key = tuple(key)

    def described(self, error: Exception) -> Exception:
        said = self._database.target.masked(error)
        return RuntimeError(f"{self._database.dialect.title}, table {self._name}: {said}")

    def ask(self, connection: Connection, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        pairs = self._pairs(connection, keys)
        columns = self._values([row for _, row in pairs])
        answers: list[list[tuple[Any, ...]]] = [[] for _ in keys]
        for (place, _), row in zip(pairs, zip(*columns)):
            answers[place].append(row)
        return answers

    def _values(self, rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """The rows as columns of Python values.

        :raises ValueError: one that there is none for; says in which column.
        """
        dialect = self._database.dialect
        try:
            return dialect.columns_of(rows, [each.type for each in self._columns])
        except ValueError:
            for place, column in enumerate(self._columns):
                try:
                    dialect.columns_of([(row[place],) for row in rows], [column.type])
                except ValueError as error:
                    raise ValueError(f"table {self._name}, column '{column.name}': {error}") from None
            raise

    def _pairs(self, connection: Connection, keys: Sequence[tuple[Any, ...]]) -> list[tuple[int, tuple[Any, ...]]]:
        dialect = self._database.dialect
        named = [(self._columns[place].name, self._columns[place].type) for place in self._key]
        wanted = ", ".join(dialect.selected(column.name, column.type) for column in self._columns)
        table = dialect.table(self._name)
        values = [to_arrow(list(column), kind) for column, (_, kind) in zip(zip(*keys), named)]
        found = dialect.find(connection, wanted, table, named, values)
        if found is None:
            found = []
            for place, key in enumerate(keys):
                alone = [to_arrow([value], kind) for value, (_, kind) in zip(key, named)]
                found += [(place, row) for _, row in dialect.find(connection, wanted, table, named, alone) or ()]
        return found
