"""Converts columns to and from ClickHouse's format TabSeparated, and changes of rows to insertions and deletions."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types import RowKind
from millrace.connectors.clickhouse.clickhouse_client import (
    RANGES,
    ClickHouseTable,
    ColumnThere,
    Connected,
    check_readable,
    check_writable,
    literal,
    one_of,
)
from millrace.connectors.dbapi import Change, quoted
from millrace.connectors.jdbc.driver_values import columns_of
from millrace.connectors.stores import last_rows
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, concat
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_python

_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_MEANT = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"0": b"\0", b"b": b"\b", b"f": b"\f", b"a": b"\a", b"v": b"\v"}
_TIMES = (Family.TIMESTAMP, Family.INSTANT)


def selected(column: ColumnThere, kind: DataType) -> str:
    """A column in a SELECT: times in UTC, whatever zone the server has.

    :raises ValueError: it cannot be read as the declared type.
    """
    check_readable(kind, column)
    name = quoted(column.name, "`")
    if column.base in ("DateTime", "DateTime64") and family_of(kind) in _TIMES:
        return f"toString({name}, 'UTC')"
    return name


def read_columns(answer: bytes, columns: Schema, there: Sequence[ColumnThere]) -> list[list[Any]]:
    """Columns of values in the Python form of their types.

    :raises ValueError: a value is not of the type that is declared.
    """
    lines = answer.split(b"\n")[:-1]
    fields = list(zip(*(line.split(b"\t") for line in lines))) if lines else [()] * len(columns)
    texts = []
    for values, column, each in zip(fields, columns, there):
        convert = _converter(column.type, each)
        texts.append([None if value == b"\\N" else convert(value) for value in values])
    return columns_of(list(zip(*texts)), [column.type for column in columns])


def _converter(kind: DataType, there: ColumnThere) -> Callable[[bytes], Any]:
    family = family_of(kind)
    if family is Family.ARRAY:
        return lambda data: _Array(data, kind.element_type).read()  # type: ignore[attr-defined]
    if there.base == "FixedString" and family is Family.TEXT:
        return lambda data: unescaped(data).rstrip(b"\0")
    return unescaped if family in (Family.TEXT, Family.BYTES) else _SIMPLE.get(family, bytes.decode)


def unescaped(data: bytes) -> bytes:
    if b"\\" not in data:
        return data
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), data)


def _truth(data: bytes) -> bool:
    if data not in (b"0", b"1", b"false", b"true"):
        raise ValueError(f"{data!r} is no BOOLEAN")
    return data in (b"1", b"true")


_SIMPLE: dict[Family, Callable[[bytes], Any]] = {Family.BOOLEAN: _truth, Family.INTEGER: int}


class _Array:
    """A list in a line: ``['a','b']``, ``[[1,NULL]]``."""

    def __init__(self, data: bytes, kind: DataType) -> None:
        self._data, self._kind, self._at = data, kind, 0

    def read(self) -> list[Any]:
        return self._list(self._kind)

    def _list(self, kind: Any) -> list[Any]:
        self._at += 1  # [
        found: list[Any] = []
        while self._data[self._at : self._at + 1] != b"]":
            if self._data[self._at : self._at + 1] == b"[":
                found.append(self._list(kind.element_type))
            else:
                found.append(self._value(kind))
            if self._data[self._at : self._at + 1] == b",":
                self._at += 1
        self._at += 1
        return found

    def _value(self, kind: DataType) -> Any:
        quoted_text = re.compile(rb"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self._data, self._at)
        match = quoted_text or re.compile(rb"[^,\]]+").match(self._data, self._at)
        if match is None:
            raise ValueError(f"{self._data[:40]!r} is no array")
        self._at = match.end()
        if quoted_text is None and match[0] == b"NULL":
            return None
        data = unescaped(match[1]) if quoted_text is not None else match[0]
        family = family_of(kind)
        convert = unescaped if family is Family.BYTES else _SIMPLE.get(family, bytes.decode)
        (column,) = columns_of([(convert(data),)], [kind])
        return column[0]


_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"))
_SECOND = 1_000_000
_MOST_SECONDS = (1 << 32) - 1
_DATES = {
    "Date": (dt.date(1970, 1, 1), dt.date(2149, 6, 6)),
    "Date32": (dt.date(1900, 1, 1), dt.date(2299, 12, 31)),
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def lines(columns: Sequence[pa.Array], kinds: Sequence[DataType], there: Sequence[ColumnThere]) -> bytes:
    """Rows, a line each.

    :raises ValueError: a value that the column cannot have: ClickHouse would take another one in its place.
    """
    made = [_texts(*each) for each in zip(columns, kinds, there)]
    rows = pc.binary_join_element_wise(*made, pa.scalar(b"\t", pa.binary())) if len(made) > 1 else made[0]
    return b"".join(part for row in rows.to_pylist() for part in (row, b"\n"))


def _texts(column: pa.Array, kind: DataType, there: ColumnThere) -> pa.Array:
    if column.null_count and not there.nullable:
        raise ValueError(f"column '{there.name}' is {there.type} there, which has no NULL: declare it as Nullable")
    family = family_of(kind)
    if family is Family.ARRAY:
        values = to_python(column, kind)
        made = pa.array([_array(value, kind, there) for value in values], pa.binary())
    elif family in (Family.TEXT, Family.BYTES):
        made = _escaped(_fitting(column, there))
    else:
        made = pc.cast(_plain(column, kind, family, there), pa.binary())
    return pc.fill_null(made, pa.scalar(b"\\N", pa.binary()))


def _plain(column: pa.Array, kind: DataType, family: Family, there: ColumnThere) -> pa.Array:
    """Each value as a text that needs no escapes."""
    if family is Family.BOOLEAN:
        return pc.if_else(column, "1", "0")
    if family in (Family.TIMESTAMP, Family.INSTANT):
        return _seconds(column, there)
    if there.base in RANGES:
        _check(column, RANGES[there.base], there)
    if there.base in _DATES:
        _check(column, _DATES[there.base], there)
    return pc.cast(column, pa.string())


def _check(column: pa.Array, bounds: tuple[Any, Any], there: ColumnThere) -> None:
    ends = pc.min_max(column).as_py()
    for value in (ends["min"], ends["max"]):
        if value is not None and not bounds[0] <= value <= bounds[1]:
            raise ValueError(f"column '{there.name}' is {there.type} there, which has no {value}")


def _seconds(column: pa.Array, there: ColumnThere) -> pa.Array:
    """Seconds since 1970, which need no time zone. A TIMESTAMP is taken for UTC."""
    ticks = column.cast(pa.int64())
    known = ticks.drop_null().to_numpy()
    step = 10 ** (6 - min(6, there.digits))
    if len(known):
        if (known % step).any():
            lost = _EPOCH + dt.timedelta(microseconds=int(known[(known % step) != 0][0]))
            raise ValueError(f"column '{there.name}' is {there.type} there, which would cut {lost:%F %T.%f}")
        if known.min() < 0 or known.max() // _SECOND > _MOST_SECONDS:
            bad = int(known.min() if known.min() < 0 else known.max())
            shown = _EPOCH + dt.timedelta(microseconds=bad)
            raise ValueError(f"column '{there.name}' is {there.type} there: {shown:%F %T} is before 1970 or after 2106")
    values = ticks.fill_null(0).to_numpy()
    # Ten digits: fewer might be the year of a date.
    whole = np.char.zfill((values // _SECOND).astype(str), 10)
    texts = pa.array(whole.astype(object), pa.string(), mask=np.asarray(ticks.is_null()))
    if not there.digits:
        return texts
    fraction = np.char.zfill((values % _SECOND).astype(str), 6)
    return pc.binary_join_element_wise(texts, pa.array(fraction.astype(object), pa.string()), ".")


def _fitting(column: pa.Array, there: ColumnThere) -> pa.Array:
    binary = column.cast(pa.binary())
    if there.base == "FixedString":
        longest = pc.max(pc.binary_length(binary)).as_py() or 0
        if longest > there.numbers[0]:
            raise ValueError(f"column '{there.name}' is {there.type} there, a value has {longest} bytes")
    return binary


def _escaped(column: pa.Array) -> pa.Array:
    for plain, escape in _ESCAPES:
        column = pc.replace_substring(column, plain, escape)
    return column


def _array(value: Any, kind: Any, there: ColumnThere) -> bytes | None:
    """A list as ClickHouse writes it in a line."""
    if value is None:
        return None
    assert there.element is not None
    element, inner = there.element, kind.element_type
    return b"[" + b",".join(_element(each, inner, element) for each in value) + b"]"


def _element(value: Any, kind: DataType, there: ColumnThere) -> bytes:
    if value is None:
        if not there.nullable:
            raise ValueError(f"column '{there.name}' is an array of {there.type} there, which has no NULL")
        return b"NULL"
    if isinstance(value, list):
        return _array(value, kind, there) or b""
    if isinstance(value, (bytes, str)):
        data = value.encode() if isinstance(value, str) else value
        for plain, escape in (*_ESCAPES, ("'", "\\'")):
            data = data.replace(plain.encode(), escape.encode())
        return b"'" + data + b"'"
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    if isinstance(value, dt.datetime):
        raise ValueError(f"column '{there.name}': arrays of times cannot be written to ClickHouse here")
    if isinstance(value, dt.date):
        return f"'{value.isoformat()}'".encode()
    if isinstance(value, bool):
        return b"1" if value else b"0"
    if isinstance(value, int) and there.base in RANGES and not RANGES[there.base][0] <= value <= RANGES[there.base][1]:
        raise ValueError(f"column '{there.name}' is an array of {there.type} there, which has no {value}")
    return repr(value).encode()


_AT_ONCE = 1_000
"""keys of one deletion"""


class Updates(Enum):
    """What to do with an updated row, whose key already exists in the table."""

    UPDATE = "update"
    """the old row is deleted before the new one is inserted"""
    INSERT = "insert"
    """the new row is inserted beside it, for tables that merge such rows themselves"""
    DISCARD = "discard"
    """nothing: the old row stays"""


@dataclass(frozen=True)
class ClickHouseChanges(Change[Rows]):
    """Inserts rows; with a key, as ``updates`` says."""

    table: ClickHouseTable
    columns: Schema
    keys: tuple[str, ...] = ()
    updates: Updates = Updates.UPDATE
    ignore_deletes: bool = False
    patience: float = 300.0
    """seconds in which a deletion has to be through"""

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: ClickHouse refuses; with the table's name."""
        names = [column.name for column in self.columns]
        places = [names.index(key) for key in self.keys]
        rows = concat(elements)
        if self.keys and self.updates is Updates.DISCARD:
            kinds = rows.kind_values()
            rows = rows.where((kinds == RowKind.INSERT.value) | (kinds == RowKind.DELETE.value))
        rows = last_rows(rows, self.keys, places, self.table.name)
        if not len(rows):
            return
        with self.table.explained():
            there = connection.wanted(names)
            for column, each in zip(self.columns, there):
                check_writable(column.type, each)
            here = rows.where(rows.adds())
            data = lines(here.columns, [column.type for column in self.columns], there) if len(here) else b""
            gone = self._to_delete(rows)
            for begin in range(0, len(gone), _AT_ONCE):
                self._delete(connection, gone.take(range(begin, min(begin + _AT_ONCE, len(gone)))), places)
            if data:
                listed = ", ".join(quoted(name, "`") for name in names)
                connection.ask(f"INSERT INTO {self.table.quoted} ({listed}) FORMAT TabSeparated", data)

    def _to_delete(self, rows: Rows) -> Rows:
        if not self.keys:
            return rows.where(np.zeros(len(rows), bool))
        adds = rows.adds()
        replaced = adds if self.updates is Updates.UPDATE else np.zeros(len(rows), bool)
        return rows.where(replaced if self.ignore_deletes else replaced | ~adds)

    def _delete(self, connection: Connected, rows: Rows, places: Sequence[int]) -> None:
        """Delete by keys, and wait until that is done."""
        kinds = [self.columns[place].type for place in places]
        keys = list(zip(*(to_python(rows.columns[place], kind) for place, kind in zip(places, kinds))))
        connection.ask(f"ALTER TABLE {self.table.quoted} DELETE WHERE {one_of(self.keys, kinds, keys)}")
        until = time.monotonic() + self.patience
        which = f"database = {literal(self.table.database)} AND table = {literal(self.table.name)} AND NOT is_done"
        pause = 0.005
        while connection.ask(f"SELECT 1 FROM system.mutations WHERE {which} LIMIT 1 FORMAT TabSeparated"):
            if time.monotonic() > until:
                raise ValueError(f"a deletion of {len(rows)} keys was not through after {self.patience:g} s")
            time.sleep(pause)
            pause = min(0.5, pause * 2)
