"""Python values as rows of a table: ``from_elements`` and ``from_pandas``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.casting import common_type
from millrace.relational.nodes import Field, Schema, Values
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.table.values.problems import problem

_INFERRED: dict[type, DataType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: t.string(),
    bytes: t.VarBinaryType(t.MAX_LENGTH),
    bytearray: t.VarBinaryType(t.MAX_LENGTH),
    Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.datetime: t.LocalZonedTimestampType(6),
    datetime.time: t.TimeType(0),
}


def values_of(elements: Iterable[Any], schema: DataType | Sequence[str] | None, verify: bool) -> Values:
    """Elements as rows written in a query.

    :param schema: a ROW type, the type of a single column, or names of columns; None: as the elements say.
    :raises TableException: an element does not fit.
    """
    rows = list(elements)
    columns = _columns(rows, schema)
    names = [column.name for column in columns]
    single = isinstance(schema, DataType) and not isinstance(schema, t.RowType)
    made = tuple(_row(element, names, single) for element in rows)
    if verify:
        _verify(made, columns)
    return Values(columns, made)


def _columns(rows: Sequence[Any], schema: DataType | Sequence[str] | None) -> Schema:
    if isinstance(schema, t.RowType):
        return tuple(Field(field.name, field.data_type) for field in schema)
    if isinstance(schema, DataType):
        return (Field("f0", schema),)
    if isinstance(schema, str):
        raise problem(f"schema is a ROW type or a list of names, not {schema!r}: DataTypes.of({schema!r}), perhaps")
    if not rows:
        raise problem("without elements the columns are unknown: give a schema with types")
    named = [_pairs(row) for row in rows]
    if schema is not None:
        given = list(schema)
        rest = [name for name, _ in named[0]][len(given) :]
        names = [*given, *rest]
    else:
        names = [name for name, _ in named[0]]
    kinds: list[DataType] = [t.NullType()] * len(names)
    for pairs in named:
        if len(pairs) != len(names):
            raise problem(f"elements have {len(names)} columns ({', '.join(names)}), and one has {len(pairs)}")
        kinds = [_merged(name, kind, inferred(value)) for name, kind, (_, value) in zip(names, kinds, pairs)]
    for name, kind in zip(names, kinds):
        if isinstance(kind, t.NullType):
            raise problem(f"all values of column '{name}' are None, so its type is unknown: give a schema with types")
    return tuple(Field(name, kind) for name, kind in zip(names, kinds))


def _merged(name: str, left: DataType, right: DataType) -> DataType:
    both = common_type([left, right])
    if both is None:
        raise problem(f"values of column '{name}' are {left} and {right}: give a schema with types")
    return both.nullable()


def inferred(value: Any) -> DataType:
    """The type that PyFlink takes for a Python value: 1 is BIGINT, a datetime TIMESTAMP_LTZ(6)."""
    if value is None:
        return t.NullType()
    found = _INFERRED.get(type(value))
    if found is not None:
        return found
    if isinstance(value, t.UserDefinedType):
        return value
    if isinstance(value, Mapping) and not hasattr(value, "_fields"):
        keys, items = ([inferred(each) for each in part] for part in (value.keys(), value.values()))
        return t.MapType(
            (common_type(keys) or t.NullType()).not_null(), (common_type(items) or t.NullType()).nullable()
        )
    if isinstance(value, list):
        return t.ArrayType((common_type([inferred(each) for each in value]) or t.NullType()).nullable())
    return t.RowType([t.RowField(name, inferred(each)) for name, each in _pairs(value)])


def _pairs(row: Any) -> list[tuple[str, Any]]:
    """Names and values of an element; ``_1``, ``_2``, ... for values without names."""
    if isinstance(row, Mapping):
        return sorted(row.items())
    if isinstance(row, Row):
        names = row._fields or [f"_{index}" for index in range(1, len(row) + 1)]
        return list(zip(names, row))
    if isinstance(row, (tuple, list)):
        names = getattr(row, "_fields", None) or [f"_{index}" for index in range(1, len(row) + 1)]
        return list(zip(names, row))
    if hasattr(row, "__dict__"):
        return sorted(vars(row).items())
    raise problem(f"an element is a tuple, list, dict or Row, not {row!r}; for one column: (value,)")


def _row(element: Any, names: Sequence[str], single: bool) -> tuple[Any, ...]:
    if single:
        return (element[0] if isinstance(element, (tuple, Row)) and len(element) == 1 else element,)
    if isinstance(element, Mapping):
        return tuple(element.get(name) for name in names)
    if isinstance(element, (Row, tuple, list)):
        if isinstance(element, Row) and element._fields and set(element._fields) == set(names):
            return tuple(element.get_fields_by_names(list(names)))
        if len(element) != len(names):
            raise problem(f"an element has {len(element)} values, and the schema {len(names)} columns: {element!r}")
        return tuple(element)
    return tuple(getattr(element, name) for name in names)


def _verify(rows: Sequence[tuple[Any, ...]], columns: Schema) -> None:
    for index, column in enumerate(columns):
        values = [row[index] for row in rows]
        if not column.type.is_nullable and None in values:
            raise problem(f"column '{column.name}' is {column.type}, and row {values.index(None)} has None")
        try:
            to_arrow(values, column.type)
        except Exception as error:
            raise problem(f"column '{column.name}' is {column.type}: {error}") from error
