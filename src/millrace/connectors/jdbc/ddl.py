"""``Ddl``: makes the statements that create and alter tables, for each kind of database.

The JDBC catalog and the sinks of CDC pipelines run them. ``alter_statements`` finds the statements that turn one
description of a table into another one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.dialect import Dialect, query_rows
from millrace.connectors.jdbc.duckdb import DuckDbDialect
from millrace.connectors.jdbc.jdbc_database import metadata_of
from millrace.connectors.jdbc.mysql import MySqlDialect
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect
from millrace.relational import types as t
from millrace.relational.rex import Field
from millrace.relational.types import DataType

# What all databases share

_CONSTANT = re.compile(
    r"(?:-?\d+(?:\.\d+)?|'(?:[^'\\]|'')*'|true|false)(?:::[a-z][a-z0-9_ ]*(?:\(\d+(?:,\d+)?\))?)?", re.IGNORECASE
)


@dataclass(frozen=True)
class NewColumn:
    """A column to be made.

    :ivar native: its type in the words of a database of the same kind; empty: made of ``type``.
    :ivar default: what rows that are there get, in the same words.
    """

    name: str
    type: DataType
    native: str = ""
    default: str | None = None

    @property
    def constant(self) -> str | None:
        """The default, if it is a constant: calls and sequences belong to the database that they come from."""
        text = (self.default or "").strip()
        return text if _CONSTANT.fullmatch(text) else None


class Ddl(ABC):
    """Statements for one dialect. Columns beside the key may be NULL: the place that rows come from has checked them.

    Names of tables are those of ``Dialect.table``.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        """The type of a column as the database calls it."""

    def schema(self, table: str) -> list[str]:
        """What makes the schema that a table is in, unless it is there."""
        return []

    def create(
        self, table: str, columns: Sequence[NewColumn], keys: Sequence[str], options: Mapping[str, str]
    ) -> list[str]:
        """What makes a table, unless it is there."""
        parts = [self._column(column, column.name in keys) for column in columns]
        if keys:
            parts.append(f"PRIMARY KEY ({', '.join(map(self.dialect.name, keys))})")
        head = f"CREATE TABLE IF NOT EXISTS {self.dialect.table(table)}"
        return [f"{head} ({', '.join(parts)}){self.behind(options)}"]

    def behind(self, options: Mapping[str, str]) -> str:
        """What stands behind the columns of a new table.

        :raises ValueError: an option that tables of this database do not have.
        """
        if options:
            raise ValueError(f"tables of {self.dialect.title} have no option '{next(iter(options))}' here")
        return ""

    def _column(self, column: NewColumn, is_key: bool) -> str:
        required = " NOT NULL" if is_key else ""
        return f"{self.dialect.name(column.name)} {self.type_name(column, is_key)}{required}"

    def add(self, table: str, column: NewColumn) -> list[str]:
        default = f" DEFAULT {column.constant}" if column.constant is not None else ""
        return [f"ALTER TABLE {self.dialect.table(table)} ADD COLUMN {self._column(column, False)}{default}"]

    def drop(self, table: str, name: str) -> list[str]:
        return [f"ALTER TABLE {self.dialect.table(table)} DROP COLUMN {self.dialect.name(name)}"]

    def rename(self, table: str, old: str, new: str) -> list[str]:
        names = f"{self.dialect.name(old)} TO {self.dialect.name(new)}"
        return [f"ALTER TABLE {self.dialect.table(table)} RENAME COLUMN {names}"]

    @abstractmethod
    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        """What gives a column another type."""

    def truncate(self, table: str) -> list[str]:
        return [f"TRUNCATE TABLE {self.dialect.table(table)}"]

    def drop_table(self, table: str) -> list[str]:
        return [f"DROP TABLE IF EXISTS {self.dialect.table(table)}"]

    def columns(self, connection: Connection, table: str) -> list[str]:
        """The names of a table's columns; empty if there is no such table."""
        return [each.name for each in metadata_of(self.dialect).columns(connection, table)]

    def run(self, connection: Connection, statements: Sequence[str]) -> None:
        """Within the transaction at hand, where the database has DDL in transactions."""
        with closing(connection.cursor()) as cursor:
            for each in statements:
                cursor.execute(each)


_POSTGRESQL_MOST_CHARACTERS = 10_485_760
_BUILT_IN = re.compile(
    r"(uuid|jsonb?|inet|cidr|macaddr8?|xml|interval|money|numeric|bit|bit varying|varbit|tsvector|time with time zone)"
    r"(\(\d+(,\d+)?\))?(\[\])*"
)
"""types without one of ours that has the same values; those that users have made are not there in another database"""


def _sized(name: str, most: int) -> Callable[[Any], str]:
    return lambda kind: f"{name}({kind.length})" if kind.length <= most else "text"


_POSTGRESQL_NAMES: Mapping[type[DataType], Callable[[Any], str]] = {
    t.BooleanType: lambda kind: "boolean",
    t.TinyIntType: lambda kind: "smallint",
    t.SmallIntType: lambda kind: "smallint",
    t.IntType: lambda kind: "integer",
    t.BigIntType: lambda kind: "bigint",
    t.FloatType: lambda kind: "real",
    t.DoubleType: lambda kind: "double precision",
    t.DecimalType: lambda kind: f"numeric({kind.precision},{kind.scale})",
    t.CharType: _sized("character", _POSTGRESQL_MOST_CHARACTERS),
    t.VarCharType: _sized("character varying", _POSTGRESQL_MOST_CHARACTERS),
    t.BinaryType: lambda kind: "bytea",
    t.VarBinaryType: lambda kind: "bytea",
    t.DateType: lambda kind: "date",
    t.TimeType: lambda kind: f"time({min(kind.precision, 6)})",
    t.TimestampType: lambda kind: f"timestamp({min(kind.precision, 6)})",
    t.LocalZonedTimestampType: lambda kind: f"timestamptz({min(kind.precision, 6)})",
    t.ArrayType: lambda kind: f"{_postgresql_name(kind.element_type)}[]",
}


def _postgresql_name(kind: DataType) -> str:
    return _POSTGRESQL_NAMES[type(kind)](kind)


class PostgreSqlDdl(Ddl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return column.native if _BUILT_IN.fullmatch(column.native) else _postgresql_name(column.type)

    def schema(self, table: str) -> list[str]:
        name, dot, _ = table.rpartition(".")
        return [f"CREATE SCHEMA IF NOT EXISTS {self.dialect.name(name)}"] if dot else []

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        name, kind = self.dialect.name(column.name), self.type_name(column, is_key)
        return [f"ALTER TABLE {self.dialect.table(table)} ALTER COLUMN {name} TYPE {kind} USING {name}::{kind}"]


_DUCKDB_NAMES: dict[type[DataType], str] = {
    t.TinyIntType: "tinyint",
    t.CharType: "varchar",
    t.VarCharType: "varchar",
    t.BinaryType: "blob",
    t.VarBinaryType: "blob",
    t.TimeType: "time",
    t.TimestampType: "timestamp",
    t.LocalZonedTimestampType: "timestamptz",
}


def _duckdb_name(kind: DataType) -> str | None:
    if isinstance(kind, t.ArrayType):
        element = _duckdb_name(kind.element_type)
        return None if element is None else f"{element}[]"
    return _DUCKDB_NAMES.get(type(kind))


class DuckDbDdl(PostgreSqlDdl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return _duckdb_name(column.type) or super().type_name(column, is_key)


_MYSQL_MOST_CHARACTERS = 16_383
"""The most characters of a varchar in utf8mb4, which has at most 65,535 bytes."""
_OF_KEY = 255
_OPTIONS = ("engine", "charset", "collate", "comment", "row_format")


def _mysql_character(kind: t.CharType) -> str:
    return f"char({kind.length})" if kind.length <= _OF_KEY else _mysql_text(kind)


def _mysql_text(kind: Any) -> str:
    return f"varchar({kind.length})" if kind.length <= _MYSQL_MOST_CHARACTERS else "longtext"


_MYSQL_NAMES: Mapping[type[DataType], Callable[[Any], str]] = {
    t.BooleanType: lambda kind: "tinyint(1)",
    t.TinyIntType: lambda kind: "tinyint",
    t.SmallIntType: lambda kind: "smallint",
    t.IntType: lambda kind: "int",
    t.BigIntType: lambda kind: "bigint",
    t.FloatType: lambda kind: "float",
    t.DoubleType: lambda kind: "double",
    t.DecimalType: lambda kind: f"decimal({kind.precision},{kind.scale})",
    t.CharType: _mysql_character,
    t.VarCharType: _mysql_text,
    t.BinaryType: lambda kind: f"binary({kind.length})" if kind.length <= _OF_KEY else "longblob",
    t.VarBinaryType: lambda kind: f"varbinary({kind.length})" if kind.length <= _MYSQL_MOST_CHARACTERS else "longblob",
    t.DateType: lambda kind: "date",
    t.TimeType: lambda kind: f"time({min(kind.precision, 6)})",
    t.TimestampType: lambda kind: f"datetime({min(kind.precision, 6)})",
    t.LocalZonedTimestampType: lambda kind: f"timestamp({min(kind.precision, 6)})",
}
_MYSQL_NAMES_IN_KEYS = {"longtext": f"varchar({_OF_KEY})", "longblob": f"varbinary({_OF_KEY})"}
"""what has no end cannot be a key"""


class MySqlDdl(Ddl):
    """Tables are named ``database.table``."""

    def type_name(self, column: NewColumn, is_key: bool) -> str:
        name = column.native or _MYSQL_NAMES[type(column.type)](column.type)
        return _MYSQL_NAMES_IN_KEYS.get(name, name) if is_key else name

    def _column(self, column: NewColumn, is_key: bool) -> str:
        # Old servers give the first timestamp a default and forbid NULL unless they are told otherwise.
        return super()._column(column, is_key) + ("" if is_key else " NULL")

    def schema(self, table: str) -> list[str]:
        name, dot, _ = table.rpartition(".")
        return [f"CREATE DATABASE IF NOT EXISTS {self.dialect.name(name)}"] if dot else []

    def behind(self, options: Mapping[str, str]) -> str:
        found = []
        for name, value in options.items():
            if name.lower() not in _OPTIONS:
                super().behind({name: value})
            plain = re.fullmatch(r"\w+", value)
            quoted = "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
            found.append(f" {name.upper()}={value if plain and name.lower() != 'comment' else quoted}")
        return "".join(found)

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        return [f"ALTER TABLE {self.dialect.table(table)} MODIFY COLUMN {self._column(column, is_key)}"]

    def columns(self, connection: Connection, table: str) -> list[str]:
        schema, _, name = table.rpartition(".")
        query = (
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = COALESCE(NULLIF(%s, ''), DATABASE()) AND table_name = %s ORDER BY ordinal_position"
        )
        return [found for (found,) in query_rows(connection, query, schema, name)]


class SqliteDdl(Ddl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return column.type.nullable().sql()

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        return []

    def truncate(self, table: str) -> list[str]:
        return [f"DELETE FROM {self.dialect.table(table)}"]


# By dialect


def ddl_of(dialect: Dialect) -> Ddl:
    if isinstance(dialect, DuckDbDialect):
        return DuckDbDdl(dialect)
    if isinstance(dialect, PostgreSqlDialect):
        return PostgreSqlDdl(dialect)
    return MySqlDdl(dialect) if isinstance(dialect, MySqlDialect) else SqliteDdl(dialect)


# From descriptions of tables to statements

_DIGITS = 6


@dataclass(frozen=True)
class WantedTable:
    """A table as a catalog knows it."""

    columns: tuple[tuple[str, DataType], ...]
    keys: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]


def create_statements(ddl: Ddl, table: str, wanted: WantedTable) -> list[str]:
    """:raises ValueError: the database has no such columns."""
    _check_name(ddl, wanted)
    dialect = ddl.dialect
    parts = [_new_column(ddl, name, kind, wanted.keys) for name, kind in wanted.columns]
    if wanted.keys:
        parts.append(f"PRIMARY KEY ({', '.join(map(dialect.name, wanted.keys))})")
    return [f"CREATE TABLE {dialect.table(table)} ({', '.join(parts)})"]


def alter_statements(ddl: Ddl, table: str, before: WantedTable, after: WantedTable) -> list[str]:
    """What an ALTER TABLE asks for: columns more, less, with another name or type.

    :raises ValueError: something else.
    """
    _check_name(ddl, after)
    if (renamed := _renamed(before, after)) is not None:
        return ddl.rename(table, *renamed)
    if before.keys != after.keys:
        raise ValueError("the primary key of a database's table stays as it is")
    gone = [name for name in before.names if name not in after.names]
    new = [name for name in after.names if name not in before.names]
    stay = [name for name in before.names if name in after.names]
    if after.names != stay + new:
        raise ValueError("new columns of a database's table come last, and those that are there keep their order")
    types, dialect = dict(after.columns), ddl.dialect
    found = [statement for name in gone for statement in ddl.drop(table, name)]
    found += [
        f"ALTER TABLE {dialect.table(table)} ADD COLUMN {_new_column(ddl, name, types[name], ())}" for name in new
    ]
    for name, kind in before.columns:
        if name in types and types[name] != kind:
            found += _retyped(ddl, table, name, kind, types[name], name in after.keys)
    return found


def _renamed(before: WantedTable, after: WantedTable) -> tuple[str, str] | None:
    """The old and the new name, if all that differs is one name."""
    if len(before.columns) != len(after.columns):
        return None
    other = [(old, new) for old, new in zip(before.columns, after.columns) if old != new]
    if len(other) != 1 or other[0][0][1] != other[0][1][1] or other[0][1][0] in before.names:
        return None
    (old, _), (new, _) = other[0]
    return (old, new) if after.keys == tuple(new if key == old else key for key in before.keys) else None


def _retyped(ddl: Ddl, table: str, name: str, before: DataType, after: DataType, is_key: bool) -> list[str]:
    if before.is_nullable != after.is_nullable:
        raise ValueError(f"column '{name}': whether it may be NULL stays as it is")
    statements = ddl.alter(table, NewColumn(name, after), is_key)
    if not statements:
        raise ValueError(f"column '{name}': {ddl.dialect.title} changes no types")
    if after.is_nullable:
        return statements
    # Where a statement says again whether the column may be NULL, it must not say what it was not asked.
    return [each if each.endswith(" NOT NULL") else re.sub(r" NULL$", " NOT NULL", each) for each in statements]


def _new_column(ddl: Ddl, name: str, kind: DataType, keys: Sequence[str]) -> str:
    is_key = name in keys
    # Said in either case: old servers have defaults of their own for some types.
    required = "NULL" if kind.is_nullable and not is_key else "NOT NULL"
    return f"{ddl.dialect.name(name)} {ddl.type_name(NewColumn(name, kind), is_key)} {required}"


def _check_name(ddl: Ddl, wanted: WantedTable) -> None:
    if (wrong := ddl.dialect.problem(tuple(Field(name, kind) for name, kind in wanted.columns))) is not None:
        raise ValueError(wrong)
    for name, kind in wanted.columns:
        if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType, t.TimeType)) and kind.precision > _DIGITS:
            raise ValueError(f"column '{name}': {ddl.dialect.title} keeps {_DIGITS} digits of a second, not {kind}")
