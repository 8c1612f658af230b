"""Values of Cassandra, and those of the types that a table declares."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.connectors.jdbc.dialects.values import columns_of
from millrace.relational.fields import Schema
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY, Family.MAP,
    }
)  # fmt: skip

_WHOLE = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_TAKES: Mapping[str, tuple[Family, ...]] = {
    **dict.fromkeys(("ascii", "text", "varchar", "inet", "uuid", "timeuuid"), (Family.TEXT,)),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "counter"), (Family.INTEGER,)),
    "varint": _WHOLE,
    "decimal": _WHOLE,
    "float": (Family.APPROXIMATE,),
    "double": (Family.APPROXIMATE,),
    "boolean": (Family.BOOLEAN,),
    "blob": (Family.BYTES,),
    "date": (Family.DATE,),
    "time": (Family.TIME,),
    "timestamp": _TIMES,
    "list": (Family.ARRAY,),
    "set": (Family.ARRAY,),
    "map": (Family.MAP,),
}
"""type there -> what is written to it"""

Convert = Callable[[Any], Any]


def problem(columns: Schema) -> str | None:
    """What is wrong with columns of a table, None for nothing."""
    wrong = next((column for column in columns if not _has(column.type)), None)
    return (
        None if wrong is None else f"column '{wrong.name}': Cassandra is neither read nor written as {wrong.type} here"
    )


def _has(kind: DataType) -> bool:
    return family_of(kind) in FAMILIES and all(map(_has, parts_of(kind)))


def writer(kind: DataType, native: str) -> Convert:
    """From the Python form of a type to what the driver takes for a column.

    :param native: the column's type, in the driver's words.
    :raises ValueError: such a column has no such values.
    """
    name = native.partition("<")[0]
    if family_of(kind) not in _TAKES.get(name, ()):
        raise ValueError(f"a column is {native} there, which cannot be written from {kind}")
    convert = _writer(kind, name)
    return lambda value: None if value is None else convert(value)


def _writer(kind: DataType, native: str) -> Convert:
    family = family_of(kind)
    if family in (Family.TIMESTAMP, Family.INSTANT):
        return _milliseconds
    if native in ("uuid", "timeuuid"):
        return uuid.UUID
    if native == "set":
        return set
    if family is Family.DECIMAL and native == "varint":
        return _whole
    return lambda value: value


def _whole(value: Decimal) -> int:
    if value != int(value):
        raise ValueError(f"a column of varint has no {value}")
    return int(value)


def _milliseconds(value: dt.datetime) -> dt.datetime:
    if value.microsecond % 1000:
        raise ValueError(f"Cassandra keeps milliseconds, {value} has more: CAST it to TIMESTAMP(3) or TIMESTAMP_LTZ(3)")
    return value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value


def read_columns(rows: Sequence[Sequence[Any]], columns: Schema) -> list[list[Any]]:
    """Rows of the driver as columns in the Python form of their types.

    :raises ValueError: a value is not of the type that is declared.
    """
    plain = [[_plain(value, column.type) for value, column in zip(row, columns)] for row in rows]
    return columns_of(plain, [column.type for column in columns])


def _plain(value: Any, kind: DataType) -> Any:
    """A value without the driver's own classes."""
    from cassandra.util import Date, Time

    if isinstance(value, Date):
        return value.date()
    if isinstance(value, Time):
        return value.time()
    if value is None:
        return None
    family = family_of(kind)
    if family is Family.TEXT and not isinstance(value, str):
        return str(value)
    if family is Family.ARRAY:
        (inner,) = parts_of(kind)
        return _each(list(value), inner)
    if family is Family.MAP:
        key, item = parts_of(kind)
        return dict(zip(_each(list(value), key), _each(list(value.values()), item)))
    if isinstance(value, str) and family is not Family.TEXT:
        raise ValueError(f"it has {value!r}, which is no {kind}")
    return value


def _each(values: list[Any], kind: DataType) -> list[Any]:
    (column,) = columns_of([(_plain(value, kind),) for value in values], [kind]) if values else [[]]
    return column
