"""Makes tables of Python values: ``from_elements`` and ``from_pandas``, with the work of PyFlink's private helpers:
inferring the types of rows from values, finding one type for several, and checking values against a type."""

from __future__ import annotations

import array
import ctypes
import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.registry import common_type
from millrace.relational.nodes import Field, Schema, Values
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.table.values.program_errors import problem, type_problem, value_problem

# Values checked against a type

Verifier = Callable[[Any], None]

_ACCEPTED: dict[type[DataType], tuple[type, ...]] = {
    t.BooleanType: (bool,),
    t.TinyIntType: (int,),
    t.SmallIntType: (int,),
    t.IntType: (int,),
    t.BigIntType: (int,),
    t.FloatType: (float,),
    t.DoubleType: (float,),
    t.DecimalType: (Decimal,),
    t.CharType: (str,),
    t.VarCharType: (str,),
    t.BinaryType: (bytearray, bytes),
    t.VarBinaryType: (bytearray, bytes),
    t.DateType: (datetime.date, datetime.datetime),
    t.TimeType: (datetime.time,),
    t.TimestampType: (datetime.datetime,),
    t.DayTimeIntervalType: (datetime.timedelta,),
    t.LocalZonedTimestampType: (datetime.datetime,),
    t.ZonedTimestampType: (datetime.datetime,),
    t.ArrayType: (list, tuple, array.array),
    t.MapType: (dict,),
    t.RowType: (tuple, list, dict),
}
_BITS: dict[type[DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32}


def type_verifier(kind: DataType, name: str | None = None) -> Verifier:
    """A function that raises for values that do not fit; unlike casts, nothing is converted.

    :param name: of what is verified, for the errors.

    The function raises ``TypeError`` for a value of another kind, ``ValueError`` for one out of range, too long, or
    None where the type has no NULL.
    """
    if type(kind) not in _ACCEPTED and not isinstance(kind, t.UserDefinedType):
        raise AssertionError(f"unknown datatype: {kind}")
    where = "" if name is None else f"{name}: "
    inner = _inner(kind, name, where)

    def verify(value: Any) -> None:
        if value is not None:
            inner(value)
        elif not kind.is_nullable:
            raise ValueError(f"{where}This field is not nullable, but got None")

    return verify


def _inner(kind: DataType, name: str | None, where: str) -> Verifier:
    if isinstance(kind, t.RowType):
        return _row_verifier(kind, name, where)
    if isinstance(kind, t.UserDefinedType):
        return _user_defined(kind, name, where)
    checks: list[Verifier] = [_class(kind, where)]
    if isinstance(kind, (t.CharType, t.BinaryType)):
        checks.append(_length(kind, where, exact=True))
    elif isinstance(kind, (t.VarCharType, t.VarBinaryType)):
        checks.append(_length(kind, where, exact=False))
    elif type(kind) in _BITS:
        checks.append(_range(kind, where))
    elif isinstance(kind, t.ArrayType):
        checks.append(_each(type_verifier(kind.element_type, f"element in array {name}")))
    elif isinstance(kind, t.MapType):
        keys = _each(type_verifier(kind.key_type, f"key of map {name}"))
        values = type_verifier(kind.value_type, f"value of map {name}")
        checks += [keys, lambda value: _each(values)(value.values())]
    return _all(checks)


def _all(checks: list[Verifier]) -> Verifier:
    def verify(value: Any) -> None:
        for check in checks:
            check(value)

    return verify


def _each(check: Verifier) -> Verifier:
    def verify(values: Any) -> None:
        for value in values:
            check(value)

    return verify


def _class(kind: DataType, where: str) -> Verifier:
    accepted = _ACCEPTED[type(kind)]

    def verify(value: Any) -> None:
        if type(value) not in accepted:
            raise TypeError(f"{where}{kind!r} can not accept object {value!r} in type {type(value)}")

    return verify


def _length(kind: Any, where: str, exact: bool) -> Verifier:
    said = "is not" if exact else "exceeds"

    def verify(value: Any) -> None:
        if len(value) > kind.length or (exact and len(value) < kind.length):
            raise ValueError(f"{where}length of object ({value}) of {type(kind).__name__} {said}: {kind.length}")

    return verify


def _range(kind: DataType, where: str) -> Verifier:
    limit = 1 << (_BITS[type(kind)] - 1)

    def verify(value: Any) -> None:
        if not -limit <= value < limit:
            raise ValueError(f"{where}object of {type(kind).__name__} out of range, got: {value}")

    return verify


def _user_defined(kind: t.UserDefinedType, name: str | None, where: str) -> Verifier:
    below = type_verifier(kind.sql_type(), name)

    def verify(value: Any) -> None:
        own = getattr(value, "__UDT__", None)
        if not (isinstance(own, t.UserDefinedType) and own.is_same(kind)):
            raise ValueError(f"{where}{value!r} is not an instance of type {kind!r}")
        below(kind.to_sql_type(value))

    return verify


def _row_verifier(kind: t.RowType, name: str | None, where: str) -> Verifier:
    inside = "" if name is None else f" in {name}"
    fields = [(field.name, type_verifier(field.data_type, f"field {field.name}{inside}")) for field in kind.fields]

    def verify(value: Any) -> None:
        if isinstance(value, Row):
            named = value._fields is not None
            for place, (field, check) in enumerate(fields):
                check(value[field] if named else value[place])
        elif isinstance(value, (tuple, list)):
            if len(value) != len(fields):
                raise ValueError(
                    f"{where}Length of object ({len(value)}) does not match with length of fields ({len(fields)})"
                )
            for each, (_, check) in zip(value, fields):
                check(each)
        elif isinstance(value, dict) or hasattr(value, "__dict__"):
            found = value if isinstance(value, dict) else vars(value)
            for field, check in fields:
                check(found.get(field))
        else:
            raise TypeError(f"{where}RowType can not accept object {value!r} in type {type(value)}")

    return verify


# Types inferred from values

PYTHON_TYPES: dict[type, DataType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: t.string(),
    bytearray: t.VarBinaryType(t.MAX_LENGTH),
    Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.datetime: t.LocalZonedTimestampType(6),
    datetime.time: t.TimeType(0),
}
SIGNED_CODES = {"b": ctypes.c_byte, "h": ctypes.c_short, "i": ctypes.c_int, "l": ctypes.c_long}
UNSIGNED_CODES = {"B": ctypes.c_ubyte, "H": ctypes.c_ushort, "I": ctypes.c_uint, "L": ctypes.c_ulong}


def _array_types() -> dict[str, DataType]:
    """Type code of ``array.array`` -> the type of its elements. Unsigned numbers need one bit more: some have none."""
    bits = {code: 8 * ctypes.sizeof(kind) for code, kind in SIGNED_CODES.items()}
    bits |= {code: 8 * ctypes.sizeof(kind) + 1 for code, kind in UNSIGNED_CODES.items()}
    sizes = {8: t.TinyIntType, 16: t.SmallIntType, 32: t.IntType, 64: t.BigIntType}
    text = t.CharType(ctypes.sizeof(ctypes.c_wchar))
    found: dict[str, DataType] = {"f": t.FloatType(), "d": t.DoubleType(), "u": text}
    for code, needed in bits.items():
        fitting = [kind for size, kind in sizes.items() if needed <= size]
        if fitting:
            found[code] = fitting[0]()
    return found


ARRAY_TYPES = _array_types()


def infer_type(value: Any) -> DataType:
    """The type of a value.

    :raises TypeError: there is none.
    """
    if value is None:
        return t.NullType()
    if hasattr(value, "__UDT__"):
        own: DataType = value.__UDT__
        return own
    known = PYTHON_TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        pairs = ((key, each) for key, each in value.items() if key is not None and each is not None)
        key, each = next(pairs, (None, None))
        return t.MapType(infer_type(key).not_null() if key is not None else t.NullType(), infer_type(each))
    if isinstance(value, list):
        return t.ArrayType(infer_type(value[0] if any(each is not None for each in value) else None))
    if isinstance(value, array.array):
        return array_type(value)
    try:
        return infer_row(value)
    except TypeError:
        raise TypeError(f"not supported type: {type(value)}") from None


def array_type(value: array.array[Any]) -> t.ArrayType:
    """:raises TypeError: numbers of this kind fit into no type of SQL."""
    element = ARRAY_TYPES.get(value.typecode)
    if element is None:
        raise TypeError(f"not supported type: array({value.typecode})")
    return t.ArrayType(element.not_null())


def infer_row(row: Any, names: list[str] | None = None) -> t.RowType:
    """The ROW type of a dict, Row, tuple, list or object; ``names`` are those of a tuple or list.

    :raises TypeError: it is none of them.
    """
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, (Row, tuple, list)):
        own = getattr(row, "_fields", None)
        if own is None:
            own = [*(names or ())]
            own += [f"_{place}" for place in range(len(own) + 1, len(row) + 1)]
        items = list(zip(own, row))
    elif hasattr(row, "__dict__"):
        items = sorted(vars(row).items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(row)}")
    return t.RowType([t.RowField(name, infer_type(value)) for name, value in items])


def has_null_type(kind: DataType) -> bool:
    """Whether some part of a type is still unknown."""
    if isinstance(kind, t.RowType):
        return any(has_null_type(field.data_type) for field in kind.fields)
    if isinstance(kind, (t.ArrayType, t.MultisetType)):
        return has_null_type(kind.element_type)
    if isinstance(kind, t.MapType):
        return has_null_type(kind.key_type) or has_null_type(kind.value_type)
    return isinstance(kind, t.NullType)


def merge_type(one: DataType, other: DataType, name: str | None = None) -> DataType:
    """A type for values of both, without widening.

    :param name: of what is merged, for the error.
    :raises TypeError: the types differ in kind.
    """
    if isinstance(one, t.NullType):
        return other
    if isinstance(other, t.NullType):
        return one
    if type(one) is not type(other):
        said = f"Can not merge type {type(one)} and {type(other)}"
        raise TypeError(said if name is None else f"{name}: {said}")
    if isinstance(one, t.RowType) and isinstance(other, t.RowType):
        return _merge_rows(one, other, name)
    if isinstance(one, t.ArrayType) and isinstance(other, t.ArrayType):
        return t.ArrayType(merge_type(one.element_type, other.element_type, f"element in array {name}"))
    if isinstance(one, t.MultisetType) and isinstance(other, t.MultisetType):
        return t.MultisetType(merge_type(one.element_type, other.element_type, f"element in multiset {name}"))
    if isinstance(one, t.MapType) and isinstance(other, t.MapType):
        key = merge_type(one.key_type, other.key_type, f"key of map {name}")
        return t.MapType(key, merge_type(one.value_type, other.value_type, f"value of map {name}"))
    return one


def _merge_rows(one: t.RowType, other: t.RowType, name: str | None) -> t.RowType:
    theirs = {field.name: field.data_type for field in other.fields}
    fields = []
    for field in one.fields:
        found = theirs.pop(field.name, None)
        inside = f"field {field.name}" if name is None else f"field {field.name} in {name}"
        kind = field.data_type if found is None else merge_type(field.data_type, found, inside)
        fields.append(t.RowField(field.name, kind))
    return t.RowType([*fields, *(t.RowField(each, kind) for each, kind in theirs.items())])


def infer_schema_from_data(elements: Sequence[Any], names: list[str] | None = None) -> t.RowType:
    """One ROW type for all elements.

    :raises ValueError: there are no elements, or all values of a column are None.
    :raises TypeError: values of a column differ in kind.
    """
    if not elements:
        raise ValueError("can not infer schema from empty data set")
    schema = infer_row(elements[0], names)
    for element in elements[1:]:
        schema = _merge_rows(schema, infer_row(element, names), None)
    if has_null_type(schema):
        raise ValueError("Some column types cannot be determined after inferring")
    return schema


# Elements

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
    made = tuple(_row_values(element, names, single) for element in rows)
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


def _row_values(element: Any, names: Sequence[str], single: bool) -> tuple[Any, ...]:
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
