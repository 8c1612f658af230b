"""What ClickHouse answers in its format TabSeparated, as columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from millrace.connectors.clickhouse.types import ColumnThere, check_readable
from millrace.connectors.dbapi.names import quoted
from millrace.connectors.jdbc.dialects.values import columns_of
from millrace.relational.fields import Schema
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

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
