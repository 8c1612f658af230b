"""DuckDB: files that are read into Arrow columns and written from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.dbapi.statements import UpsertNames
from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.duckdb_file import FileConnection, is_taken, library, opened
from millrace.connectors.jdbc.dialects.literals import constant
from millrace.connectors.jdbc.dialects.target import TableShape, Target
from millrace.connectors.jdbc.dialects.values import FETCH, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, YEARS
from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.rows import record_batch
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import CharType, DataType, DecimalType
from millrace.relational.values import to_arrow, to_python

_FAR = re.compile(r"^\d{5,}-|\(BC\)")
"""times that the driver leaves texts"""
_ROWS, _AT = "millrace rows", '"millrace at"'
_PUSHED = (Family.INTEGER, Family.TEXT, Family.DATE, Family.DECIMAL)


class DuckDbDialect(Dialect):
    title = "DuckDB"
    style = "qmark"
    families = frozenset(
        {
            Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
            Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY,
        }
    )  # fmt: skip

    aggregated = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP})
    grouped = frozenset({Family.INTEGER, Family.DECIMAL, Family.DATE, Family.BOOLEAN, Family.TEXT})

    def open(self, target: Target) -> Any:
        _check(target)
        with closing(opened(target.database, target.timeout)):  # what is wrong with the file shows here
            return FileConnection(target.database, target.timeout)

    def is_passing(self, error: BaseException) -> bool:
        return is_taken(error) or isinstance(error, library().TransactionException)

    def literal(self, value: Any, kind: DataType) -> str | None:
        if family_of(kind) not in _PUSHED:
            return None
        return constant(value, kind, lambda text: "'" + text.replace("'", "''") + "'")

    # -- reading ------------------------------------------------------------------------------------------------

    def selected(self, name: str, kind: DataType) -> str:
        if family_of(kind) is Family.TEXT:
            return f"CAST({self.name(name)} AS VARCHAR)"
        if family_of(kind) is Family.INSTANT:
            return f"CAST({self.name(name)} AS TIMESTAMPTZ)"
        return self.name(name)

    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        _check(target)
        with closing(opened(target.database, target.timeout, read_only=True)) as connection:
            for batch in connection.sql(query).to_arrow_reader(fetch or FETCH):
                yield record_batch([_read(*each) for each in zip(batch.columns, kinds)], batch.num_rows)

    def find(
        self,
        connection: Any,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]] | None:
        labels = [f"millrace k{number}" for number in range(len(keys))]
        asked = pa.table([*values, pa.array(range(len(values[0])))], [*labels, "millrace at"])
        equal = " AND ".join(
            # What is read is filled up with blanks; the file has it as it was written.
            f"rtrim({self.name(name)}, ' ') = rtrim({self.name(label)}, ' ')"
            if isinstance(kind, CharType)
            else f"{self.name(name)} = {self.name(label)}"
            for (name, kind), label in zip(keys, labels)
        )
        query = f"SELECT {_AT}, {wanted} FROM {table} JOIN {self.name(_ROWS)} ON {equal}"
        with _registered(connection, asked):
            return [(row[0], tuple(row[1:])) for row in connection.raw.execute(query).fetchall()]

    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        columns = zip(*rows) if rows else [()] * len(kinds)
        return [to_python(_read(_column(column), kind), kind) for column, kind in zip(columns, kinds)]

    # -- writing ------------------------------------------------------------------------------------------------

    def append(
        self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, "")

    def upsert(
        self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        self._insert(connection, shape, columns, self._names(shape).conflict_clause())

    def delete(self, connection: Any, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]) -> None:
        table, rows = self.table(shape.table), self.name(_ROWS)
        equal = " AND ".join(f"{table}.{self.name(key)} = {rows}.{self.name(key)}" for key in shape.keys)
        with _registered(connection, pa.table(list(keys), list(shape.keys))):
            connection.raw.execute(f"DELETE FROM {table} USING {rows} WHERE {equal}")

    def _insert(self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], clause: str) -> None:
        names = ", ".join(map(self.name, shape.columns))
        with _registered(connection, pa.table(list(columns), list(shape.columns))):
            connection.raw.execute(
                f"INSERT INTO {self.table(shape.table)} ({names}) SELECT {names} FROM {self.name(_ROWS)} {clause}"
            )

    def _names(self, shape: TableShape) -> UpsertNames:
        return UpsertNames(self.table(shape.table), [*map(self.name, shape.columns)], [*map(self.name, shape.keys)])


class _registered:
    """Rows as a table of a query."""

    def __init__(self, connection: FileConnection, rows: pa.Table) -> None:
        self._raw = connection.raw
        self._rows = rows

    def __enter__(self) -> None:
        self._raw.register(_ROWS, self._rows)

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if kind is None:  # else the transaction is over, and the file is closed soon
            self._raw.unregister(_ROWS)


def _check(target: Target) -> None:
    if target.properties:
        raise ValueError(f"DuckDB has no property '{next(iter(target.properties))}' here")
    if target.database in ("", ":memory:"):
        raise ValueError("a database in memory is seen by no other process: name a file")


def _column(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:  # UBIGINT and HUGEINT
        return pa.array([None if value is None else Decimal(value) for value in values])


def _read(column: pa.Array, kind: DataType) -> pa.Array:
    """A column of a query in the form that plans have for its type.

    :raises ValueError: a value does not fit.
    """
    wanted = arrow_type(kind)
    try:
        if isinstance(kind, DecimalType) and pa.types.is_floating(column.type):
            return to_arrow([None if value is None else _decimal(value) for value in column.to_pylist()], kind)
        if isinstance(kind, DecimalType) and pa.types.is_decimal(column.type):
            # Digits after the point that are too many are rounded, as they are of all databases.
            column = pc.round(column, min(kind.scale, column.type.scale), "half_towards_infinity")
        if pa.types.is_temporal(wanted) != pa.types.is_temporal(column.type) and not _says_it(column.type):
            raise pa.ArrowInvalid("one of them is a time")
        made = _finite(column, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if pa.types.is_temporal(wanted) and pa.types.is_string(column.type):
            far = next((value for value in column.to_pylist() if value and _FAR.search(value)), None)
            if far is not None:
                raise ValueError(f"it has {far!r}, which is no {kind} here{YEARS}") from None
        raise ValueError(f"it has {column.type}, which cannot be read as {kind}: {error}") from None
    if isinstance(kind, CharType):
        return pc.utf8_rpad(made, kind.length)
    return canonical(made, kind)


def _finite(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """A column in a type; infinite times as the first and the last one that Python has."""
    if not (pa.types.is_timestamp(column.type) or column.type == pa.date32()):
        return column if column.type == wanted else pc.cast(column, wanted)
    numbers = column.view(pa.int32() if column.type == pa.date32() else pa.int64())
    last = np.iinfo(numbers.type.to_pandas_dtype()).max
    is_last, is_first = (pc.fill_null(pc.equal(numbers, each), False) for each in (last, -last))
    made = pc.cast(pc.if_else(pc.or_(is_last, is_first), None, column), wanted)
    is_date = pa.types.is_date(wanted)
    ends = [pa.scalar(each, wanted) for each in ((LAST_DAY, FIRST_DAY) if is_date else (LAST_MOMENT, FIRST_MOMENT))]
    return pc.case_when(pc.make_struct(is_last, is_first), *ends, made)


def _says_it(kind: pa.DataType) -> bool:
    """Whether values are texts, or all NULL."""
    return bool(pa.types.is_string(kind) or pa.types.is_null(kind))


def _decimal(value: float) -> Any:

    return Decimal(repr(value))
