"""Rows in columns as the rows that ``TableResult.collect`` gives: by position, as PyFlink does, and by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from millrace.common.types import Row, RowKind, row_of
from millrace.relational import types as t
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.relational.values import to_python

_KINDS = list(RowKind)


class CollectedRow(Row):
    """Equal to ``Row(1, "a")`` as in PyFlink, whose collected rows have no names; ``row.id`` and ``row["id"]`` work."""

    __slots__ = ("_names",)

    _names: Sequence[str]

    @staticmethod
    def of(values: list[Any], names: Sequence[str], kind: RowKind) -> CollectedRow:
        """The fast way: nothing is checked, nothing is copied. Share ``names`` between rows."""
        row = CollectedRow.__new__(CollectedRow)
        row._values = values
        row._fields = None
        row._row_kind = kind
        row._names = names
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        return row_of(self._values, list(self._named())).as_dict(recursive)

    def _named(self) -> Sequence[str]:
        return self._names if self._fields is None else self._fields

    def _index(self, name: str) -> int:
        try:
            return self._named().index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in this row; its fields are {', '.join(self._named())}") from None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                return self._values[self._named().index(name)]
            except ValueError:
                pass
        raise AttributeError(name)

    def __copy__(self) -> CollectedRow:
        row = CollectedRow.of(self._values.copy(), self._names, self._row_kind)
        row._fields = self._fields
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._values, self._names, self._row_kind, self._fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._as_row() == (other._as_row() if isinstance(other, CollectedRow) else other)

    def _as_row(self) -> Row:
        return row_of(self._values, self._fields, self._row_kind)

    __hash__ = Row.__hash__


def _again(values: list[Any], names: Sequence[str], kind: RowKind, fields: list[str] | None) -> CollectedRow:
    row = CollectedRow.of(values, names, kind)
    row._fields = fields
    return row


def collected_rows(rows: Rows, columns: Schema) -> Iterator[CollectedRow]:
    """Columns as rows of Python values; FLOAT is the shortest number that means the same 32 bits."""
    names = [column.name for column in columns]
    values = []
    for array, column in zip(rows.columns, columns):
        found, convert = to_python(array, column.type), _converter(column.type)
        values.append(found if convert is None else list(map(convert, found)))
    for each, kind in zip(zip(*values), rows.kind_values().tolist()):
        yield CollectedRow.of(list(each), names, _KINDS[kind])


def _converter(kind: DataType) -> Callable[[Any], Any] | None:
    """From a value as functions get it to the collected one; None where they are the same."""
    if isinstance(kind, t.FloatType):
        return _shortest
    if isinstance(kind, t.RowType):
        return _row(kind)
    if isinstance(kind, t.ArrayType):
        return _list(_converter(kind.element_type))
    if isinstance(kind, t.MapType):
        return _map(_converter(kind.key_type), _converter(kind.value_type))
    return None


def _shortest(value: float | None) -> float | None:
    return None if value is None else float(str(np.float32(value)))


def _row(kind: t.RowType) -> Callable[[Any], Any]:
    names = [field.name for field in kind.fields]
    converters = [_converter(field.data_type) or _same for field in kind.fields]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        inner = [each(part) for each, part in zip(converters, value)]
        return CollectedRow.of(inner, names, value.get_row_kind())

    return convert


def _list(element: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if element is None else lambda value: None if value is None else list(map(element, value))


def _map(key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if key is None and value is None:
        return None
    one, other = key or _same, value or _same
    return lambda found: None if found is None else {one(each): other(part) for each, part in found.items()}


def _same(value: Any) -> Any:
    return value
