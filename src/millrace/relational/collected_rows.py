"""Rows in columns as what ``TableResult.collect`` gives: by position, as PyFlink does, with names for whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from millrace.common.collected_row import CollectedRow
from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.relational.values import to_python

_KINDS = list(RowKind)


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
