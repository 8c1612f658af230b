"""Python values as rows of a table: ``from_elements`` and ``from_pandas``."""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.casting import common_type
from millrace.relational.nodes import Field, Schema, Values
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.table.values.inference import PYTHON_TYPES, array_type
from millrace.table.values.problems import problem, type_problem, value_problem
from millrace.table.values.verifier import type_verifier

_INFERRED = PYTHON_TYPES | {bytes: t.VarBinaryType(t.MAX_LENGTH)}


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
        raise value_problem("without elements the columns are unknown: give a schema with types")
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
            text = f"all values of column '{name}' are None, so its type is unknown: give a schema with types"
            raise value_problem(text)
    return tuple(Field(name, kind) for name, kind in zip(names, kinds))


def _merged(name: str, left: DataType, right: DataType) -> DataType:
    both = common_type([left, right])
    if both is None:
        raise type_problem(f"values of column '{name}' are {left} and {right}: give a schema with types")
    return both.nullable()


def inferred(value: Any) -> DataType:
    """The type that PyFlink takes for a Python value: 1 is BIGINT, a datetime TIMESTAMP_LTZ(6)."""
    if value is None:
        return t.NullType()
    found = _INFERRED.get(type(value))
    if found is not None:
        return found
    if isinstance(getattr(value, "__UDT__", None), t.UserDefinedType):
        own: DataType = value.__UDT__
        return own
    if isinstance(value, array.array):
        return _array(value)
    if isinstance(value, Mapping) and not hasattr(value, "_fields"):
        keys, items = ([inferred(each) for each in part] for part in (value.keys(), value.values()))
        return t.MapType(
            (common_type(keys) or t.NullType()).not_null(), (common_type(items) or t.NullType()).nullable()
        )
    if isinstance(value, list):
        return t.ArrayType((common_type([inferred(each) for each in value]) or t.NullType()).nullable())
    return t.RowType([t.RowField(name, inferred(each)) for name, each in _pairs(value)])


def _array(value: array.array[Any]) -> DataType:
    try:
        return array_type(value)
    except TypeError as error:
        raise type_problem(str(error)) from None


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
            raise value_problem(f"column '{column.name}' is {column.type}, and row {values.index(None)} has None")
        if (too_long := _too_long(values, column.type)) is not None:
            raise value_problem(f"column '{column.name}' is {column.type}, too short for {too_long!r}")
        try:
            to_arrow(values, column.type)
        except Exception as error:
            fitting = type_problem if _is_of_another_kind(values, column.type) else value_problem
            raise fitting(f"column '{column.name}' is {column.type}: {error}") from error


def _too_long(values: Sequence[Any], kind: DataType) -> Any:
    if not isinstance(kind, (t.VarCharType, t.VarBinaryType)) or kind.length == t.MAX_LENGTH:
        return None
    sized = (value for value in values if isinstance(value, (str, bytes, bytearray)))
    return next((value for value in sized if len(value) > kind.length), None)


def _is_of_another_kind(values: Sequence[Any], kind: DataType) -> bool:
    """Rather than out of range."""
    verify = type_verifier(kind)
    try:
        for value in values:
            verify(value)
    except TypeError:
        return True
    except Exception:
        return False
    return False
