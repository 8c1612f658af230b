"""``JdbcAggregatesSource``: lets the database compute COUNT, SUM, MIN, MAX and AVG.

``computed`` gives them to the database only where its answer is the same as Millrace's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.jdbc.dialect import ColumnFound
from millrace.connectors.jdbc.jdbc_database import Database, metadata_of
from millrace.connectors.jdbc.jdbc_scan import JdbcSplit, Query, all_of
from millrace.connectors.stores import PartsSource
from millrace.relational import types as t
from millrace.relational.rex import Field, Rex, Schema, refs
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Aggregation
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python

MOST_DIGITS = 28
"""The most digits of decimals that the database may sum: ten more are left for the sum of any number of rows."""
WIDE = t.DecimalType(38, 0)
"""Type of a sum of whole numbers before it is wrapped to its own type."""
_BITS: dict[type[DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_NARROW = (t.TinyIntType, t.SmallIntType, t.IntType)
_TEXTS = ("text", "character varying", "varchar")


@dataclass(frozen=True)
class Computed:
    """One column of the result: what is asked of the database for it."""

    kind: DataType
    asked: tuple[tuple[str, DataType], ...]
    """expressions in SQL, with the types that they are read as"""
    whole: bool = False
    """whether it is a sum of whole numbers, or with two expressions their average"""


def computed(asked: Aggregation, columns: Schema, database: Database) -> tuple[Computed, ...] | None:
    """What is asked for each column; None: the database might answer otherwise than we."""
    found = [_key(columns[key], database) for key in asked.keys]
    for (name, column), field in zip(asked.calls, asked.columns[len(asked.keys) :]):
        found.append(_call(name, None if column is None else columns[column], field.type, database))
    made = tuple(each for each in found if each is not None)
    return made if len(made) == len(found) else None


def _key(column: Field, database: Database) -> Computed | None:
    dialect = database.dialect
    if family_of(column.type) not in dialect.grouped or isinstance(column.type, t.CharType):
        return None
    return Computed(column.type, ((dialect.compared(column.name, column.type), column.type),))


def _call(name: str, column: Field | None, result: DataType, database: Database) -> Computed | None:
    if column is None:
        return Computed(result, (("COUNT(*)", result),)) if name == "COUNT" else None
    dialect, family = database.dialect, family_of(column.type)
    expression = dialect.compared(column.name, column.type)
    if name == "COUNT":
        return Computed(result, ((f"COUNT({dialect.name(column.name)})", result),))
    if family not in dialect.aggregated:
        return None
    if name in ("MIN", "MAX"):
        same = column.type.with_nullable(True) == result.with_nullable(True)
        return Computed(result, ((f"{name}({expression})", result),)) if same else None
    if family is Family.INTEGER and (dialect.sums_any or isinstance(column.type, _NARROW)):
        total = (f"SUM({expression})", WIDE)
        count = (f"COUNT({expression})", t.BigIntType())
        return Computed(result, (total,) if name == "SUM" else (total, count), whole=True)
    if name == "SUM" and isinstance(column.type, t.DecimalType) and column.type.precision <= MOST_DIGITS:
        return Computed(result, ((f"SUM({expression})", result),))
    return None


def typed_alike(database: Database, table: str, columns: Sequence[Field]) -> bool:
    """Whether the database has these columns in the types that are declared. What is declared otherwise is converted
    when it is read, and then sums, order and equality are not the database's."""
    if not columns:
        return True
    metadata = metadata_of(database.dialect)
    try:
        with closing(database()) as connection:
            there = {each.name: each for each in metadata.columns(connection, metadata.full_name(table))}
    except Exception:
        return False  # what is wrong is said when the table is read
    return all(column.name in there and _alike(column.type, there[column.name], database) for column in columns)


def _alike(declared: DataType, found: ColumnFound, database: Database) -> bool:
    family = family_of(declared)
    if family is Family.TEXT:
        return found.native.lower().startswith(_TEXTS)
    if not database.dialect.checks_types:
        return family is family_of(found.type)  # and each value is looked at
    return declared.with_nullable(True) == found.type.with_nullable(True)


def used(asked: Aggregation, columns: Schema) -> list[Field]:
    """The columns of the table that the answer depends on."""
    read = {*asked.keys, *(column for _, column in asked.calls if column is not None)}
    return [columns[each] for each in sorted(read.union(*map(refs, asked.filters)))]


def exact(filters: Sequence[Rex], columns: Schema, database: Database) -> tuple[str, ...] | None:
    """The filters in SQL, if the database lets the same rows through."""
    read = [columns[each] for condition in filters for each in refs(condition) if each < len(columns)]
    if any(family_of(each.type) is Family.TEXT for each in read) and Family.TEXT not in database.dialect.grouped:
        return None
    return all_of(filters, columns, database.dialect)


@dataclass(frozen=True)
class GroupedQuery(Query):
    """A query over the groups of a table."""

    grouped: str = ""
    """the grouped query, in the database's SQL"""

    def source(self, database: Database) -> str:
        return f"({self.grouped}) AS millrace_groups"


class JdbcAggregatesSource(PartsSource[Rows, JdbcSplit]):
    """Reads the groups of a table in one query."""

    def __init__(
        self, database: Database, table: str, columns: tuple[Computed, ...], keys: int, conditions: tuple[str, ...]
    ) -> None:
        self._database, self._columns = database, columns
        dialect = database.dialect
        asked = [each for column in columns for each in column.asked]
        names = [f"c{place}" for place in range(len(asked))]
        wanted = ", ".join(f"{text} AS {dialect.name(name)}" for (text, _), name in zip(asked, names))
        where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
        by = ", ".join(column.asked[0][0] for column in columns[:keys])
        grouped = f"SELECT {wanted} FROM {dialect.table(table)}{where}{f' GROUP BY {by}' if by else ''}"
        fields = tuple(Field(name, kind) for name, (_, kind) in zip(names, asked))
        self._query = GroupedQuery(table, fields, grouped=grouped)

    def parts(self) -> list[JdbcSplit]:
        return [JdbcSplit("0")]

    def elements(self, part: JdbcSplit) -> Iterator[Rows]:
        for rows in self._query.batches(self._database):
            read, columns = iter(rows.batch.columns), []
            for column in self._columns:
                taken = [next(read) for _ in column.asked]
                columns.append(_finished(column, taken))
            yield Rows(record_batch(columns, len(rows.batch)))


def _finished(column: Computed, read: list[pa.Array]) -> Any:
    if not column.whole:
        return read[0]
    totals = [None if each is None else int(each) for each in to_python(read[0], WIDE)]
    if len(read) == 2:
        counts = to_python(read[1], t.BigIntType())
        totals = [_quotient(_wrapped(total, 64), count) for total, count in zip(totals, counts)]
    bits = _BITS[type(column.kind)]
    return to_arrow([None if each is None else _wrapped(each, bits) for each in totals], column.kind)


def _wrapped(value: int | None, bits: int) -> int | None:
    """As a number of that many bits, which is what is left of a sum that is too large."""
    half = 1 << (bits - 1)
    return None if value is None else (value + half) % (2 * half) - half


def _quotient(total: int | None, count: int) -> int | None:
    """Cut towards zero."""
    if total is None or not count:
        return None
    return total // count if total >= 0 else -(-total // count)
