"""From a table as it is to be to the statements that make it so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.connectors.jdbc.ddl.base import Ddl, NewColumn
from millrace.relational import types as t
from millrace.relational.fields import Field
from millrace.relational.types import DataType

__all__ = ["Wanted", "altered", "created"]

_DIGITS = 6


@dataclass(frozen=True)
class Wanted:
    """A table as a catalog knows it."""

    columns: tuple[tuple[str, DataType], ...]
    keys: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]


def created(ddl: Ddl, table: str, wanted: Wanted) -> list[str]:
    """:raises ValueError: the database has no such columns."""
    _check(ddl, wanted)
    dialect = ddl.dialect
    parts = [_column(ddl, name, kind, wanted.keys) for name, kind in wanted.columns]
    if wanted.keys:
        parts.append(f"PRIMARY KEY ({', '.join(map(dialect.name, wanted.keys))})")
    return [f"CREATE TABLE {dialect.table(table)} ({', '.join(parts)})"]


def altered(ddl: Ddl, table: str, before: Wanted, after: Wanted) -> list[str]:
    """What an ALTER TABLE asks for: columns more, less, with another name or type.

    :raises ValueError: something else.
    """
    _check(ddl, after)
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
        f"ALTER TABLE {dialect.table(table)} ADD COLUMN {_column(ddl, name, types[name], ())}" for name in new
    ]
    for name, kind in before.columns:
        if name in types and types[name] != kind:
            found += _retyped(ddl, table, name, kind, types[name], name in after.keys)
    return found


def _renamed(before: Wanted, after: Wanted) -> tuple[str, str] | None:
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


def _column(ddl: Ddl, name: str, kind: DataType, keys: Sequence[str]) -> str:
    is_key = name in keys
    # Said in either case: old servers have defaults of their own for some types.
    required = "NULL" if kind.is_nullable and not is_key else "NOT NULL"
    return f"{ddl.dialect.name(name)} {ddl.type_name(NewColumn(name, kind), is_key)} {required}"


def _check(ddl: Ddl, wanted: Wanted) -> None:
    if (wrong := ddl.dialect.problem(tuple(Field(name, kind) for name, kind in wanted.columns))) is not None:
        raise ValueError(wrong)
    for name, kind in wanted.columns:
        if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType, t.TimeType)) and kind.precision > _DIGITS:
            raise ValueError(f"column '{name}': {ddl.dialect.title} keeps {_DIGITS} digits of a second, not {kind}")
